"""The plugin `azure`: logs of Microsoft Azure. Its tables and formats are the pack in this folder."""

from tailpipe.plugin import Late, Plugin

_HERE = "tailpipe.plugins.azure"

plugin = Plugin(
    name="azure",
    pack=__path__[0],
    sources=[Late("azure_blob_storage", f"{_HERE}.storage:BlobStorage")],
    connections=[Late("azure", f"{_HERE}.connection:Azure")],
)
