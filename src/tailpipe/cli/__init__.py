"""The command line: arguments → request → operation → render. One file for each command; render alone prints."""

from tailpipe.cli.app import main

__all__ = ["main"]
