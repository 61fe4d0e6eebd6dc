"""The plugin `http`: any HTTP API as a source, described in config."""

from tailpipe.plugin import Late, Plugin

_HERE = "tailpipe.plugins.http"

plugin = Plugin(
    name="http",
    description="Events of HTTP APIs, described in config.",
    sources=[Late("http", f"{_HERE}.source:HttpSource")],
    connections=[Late("http", f"{_HERE}.connection:HttpConnection")],
)
