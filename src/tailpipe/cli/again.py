"""Commands that messages suggest: they repeat what the user typed, so that they do what the message says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

import click

from tailpipe.cli.options import flags_of
from tailpipe.frozen import frozen

_SWITCHES = {"skip_bad_artifacts": True, "compact": False, "push": False}
"""The switches of `collect` that a suggestion repeats, with the value that is not the default."""


@frozen
class Typed:
    """What a user typed after `collect`: the only source, the ends of the window, and switches that stay."""

    source: str | None = None
    start: str | None = None
    end: str | None = None
    switches: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: str | None, flags: Mapping[str, Any]) -> Typed:
        """What the flags of a call say."""
        words = {name: ("--" if value else "--no-") + name.replace("_", "-") for name, value in _SWITCHES.items()}
        kept = tuple(word for name, word in words.items() if flags[name] == _SWITCHES[name])
        return cls(source, flags["start"], flags["end"], kept)

    @property
    def has_window(self) -> bool:
        """Whether a window was requested."""
        return bool(self.start or self.end)

    def collect(self, partition: str, *flags: str) -> str:
        """A call of `collect` for a partition, with these flags in place of the window."""
        from shlex import join  # late, because most commands suggest nothing

        return join(["tailpipe", "collect", partition, *filter(None, [self.source]), *flags, *self.switches])

    def overwrite(self, partition: str, since: date | None) -> str:
        """The call that collects again what was requested, or everything since a day if nothing was named."""
        window = {"--from": self.start, "--to": self.end}
        if not self.has_window:
            window = {"--from": str(since) if since else None}
        words = [word for name, value in window.items() if value for word in (name, value)]
        return self.collect(partition, *words, "--overwrite")


def located(text: str) -> str:
    """The text with the config and the workspace of this call in the commands that it suggests."""
    context = click.get_current_context(silent=True)
    flags = flags_of(context) if context else {}
    words = [word for name, value in sorted(flags.items()) for word in (f"--{name.replace('_', '-')}", value)]
    if not words:
        return text
    from shlex import join

    from tailpipe.cli.app import COMMANDS

    command = rf"(?<![\w./-])tailpipe (?=(?:{'|'.join(COMMANDS)})\b)"
    return re.sub(command, lambda _: f"tailpipe {join(words)} ", text)
