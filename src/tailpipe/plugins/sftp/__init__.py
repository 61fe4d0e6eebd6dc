"""The plugin `sftp`: files on servers that speak SFTP."""

from tailpipe.plugin import Late, Plugin

_HERE = "tailpipe.plugins.sftp"

plugin = Plugin(
    name="sftp",
    description="Files on SFTP servers.",
    sources=[Late("sftp", f"{_HERE}.source:SftpFiles")],
    connections=[Late("sftp", f"{_HERE}.connection:Sftp")],
)
