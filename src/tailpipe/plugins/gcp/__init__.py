"""The plugin `gcp`: logs of Google Cloud. Its tables and formats are the pack in this folder."""

from tailpipe.plugin import Late, Plugin

_HERE = "tailpipe.plugins.gcp"

plugin = Plugin(
    name="gcp",
    pack=__path__[0],
    sources=[Late("gcp_storage_bucket", f"{_HERE}.storage:StorageBucket")],
    connections=[Late("gcp", f"{_HERE}.connection:Gcp")],
)
