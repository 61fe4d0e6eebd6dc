"""For plugin authors and for our own tests: checks of plugins and formats, and an engine that needs no Spark."""

from tailpipe.testing.engine import InProcessEngine
from tailpipe.testing.formats import ReadRows, check_format, read_bytes
from tailpipe.testing.plugins import HEAVY, check_plugin

__all__ = ["HEAVY", "InProcessEngine", "ReadRows", "check_format", "check_plugin", "read_bytes"]
