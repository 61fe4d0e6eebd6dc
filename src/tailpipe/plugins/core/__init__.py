"""The plugin `core`: the formats and sources that belong to no product."""

from tailpipe.plugin import Plugin
from tailpipe.plugin.formats import FORMATS, PRESETS
from tailpipe.plugins.core.command import Command
from tailpipe.plugins.core.sources import File

plugin = Plugin(
    name="core",
    description="Files, commands, and the formats that logs of all kinds are written in.",
    sources=[Command, File],
    formats=FORMATS,
    presets=PRESETS,
)
