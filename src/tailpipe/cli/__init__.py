"""The command line: arguments → Workspace → render. One file for each command; render alone prints."""

from tailpipe.cli.app import main

__all__ = ["main"]
