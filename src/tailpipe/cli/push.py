"""`tailpipe push`: uploads committed data to the stores of partitions."""

from __future__ import annotations

import re
import shutil
import sys
import time
from typing import TYPE_CHECKING

import click

from tailpipe.cli import render
from tailpipe.cli.bar import Segment, draw_bar, redraw
from tailpipe.cli.options import common, examples, fail_if, home_of, output, refuse_locked, selectors
from tailpipe.cli.pushes import published_lines, push_record
from tailpipe.errors import UsageError
from tailpipe.model.visible import visible

if TYPE_CHECKING:
    from tailpipe.stores.push import Progress

COLUMNS = render.columns(
    "partition",
    "store",
    "commits",
    "files",
    "bytes:size",
    "requests",
    "unpushed_commits:not pushed",
    "offloaded_files:moved off disk",
    "freed_bytes:freed",
)
_NOT_IN_DRY_RUN = ("unpushed_commits", "offloaded_files", "freed_bytes")
_RATE = re.compile(r"(\d+(?:\.\d+)?) ?(kB|MB|GB)(?:/s)?", re.IGNORECASE)
_UNITS = {"kb": 10**3, "mb": 10**6, "gb": 10**9}
_LINE_SECONDS = 5.0


@click.command(
    "push",
    epilog=examples(
        "tailpipe push", "tailpipe push app_log.local --dry-run", "tailpipe push 'aws_*' --limit-rate 10MB"
    ),
)
@selectors
@click.option("--dry-run", is_flag=True, help="Print files, bytes and requests without pushing.")
@click.option("--limit-rate", metavar="SIZE", help="Average bytes per second, such as 500kB or 10MB.")
@output
@common
def command(
    context: click.Context, selectors: tuple[str, ...], dry_run: bool, limit_rate: str | None, output: str
) -> None:
    """Push committed data of the selected partitions, or of all of them, to their stores.

    collect does this after every commit. A push that was interrupted continues where it stopped: files that are
    already in the store are not sent again. Afterwards, files that need not stay on this disk leave it.
    """
    from tailpipe.operations.push import Push, push

    home, rate = home_of(context), _rate(limit_rate)
    chosen = home.select(selectors)
    if not any(home.stores.of(name) for name in chosen):
        hint = 'add one: store "lake" { … }, and store = store.lake to the partition'
        raise UsageError("none of the partitions has a store", hint=hint)
    show = _Progress()
    try:
        done = push(home, Push(tuple(chosen), dry_run, rate), show)
    finally:
        show.close()
    changed = [one for one in done if one.commits or one.files or one.offloaded_files or one.freed_files]
    changed += [one for one in done if one not in changed and (one.unpushed_commits or one.error)]
    shown = changed if output == "pretty" else done
    columns = {name: title for name, title in COLUMNS.items() if not dry_run or name not in _NOT_IN_DRY_RUN}
    nothing = "" if any(one.locked for one in done) else "nothing to push"
    render.records([push_record(one) for one in shown], output, columns, nothing=nothing)
    if shown and dry_run:
        render.say("dry run: nothing pushed")
    for one in done:
        for conflict in one.conflicts:
            render.say(conflict)
    for one in done:
        if one.error:
            render.problem(f"{one.partition}: {one.error}")
    for one in done:
        for line in published_lines(one):
            render.say(f"{one.partition}: {line}")
    refuse_locked(one.locked for one in done)
    fail_if(any(one.error or one.publish_error for one in done))


def _rate(text: str | None) -> float | None:
    if text is None:
        return None
    match = _RATE.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise UsageError(f'"{text}" is not a rate', hint="write a number and a unit: 500kB, 10MB or 1GB")
    return float(match[1]) * _UNITS[match[2].lower()]


class _Progress:
    """Draws the progress of an upload: a bar on a terminal, now and then a line elsewhere."""

    def __init__(self) -> None:
        self._is_live = sys.stderr.isatty()
        self._reported_at = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        words = (
            f"{progress.files:,}/{render.counted(progress.total_files, 'file')}",
            f"{render.size(progress.size)} of {render.size(progress.total_size)}",
        )
        if self._is_live:
            segments = [Segment(words[0], 1), Segment(words[1], 0), Segment(visible(progress.partition), 2)]
            share = progress.size / progress.total_size if progress.total_size else 1.0
            room = shutil.get_terminal_size().columns - 1
            line = draw_bar(share, segments, room, is_ascii=(sys.stderr.encoding or "").lower() != "utf-8")
            redraw(line)
        elif time.monotonic() - self._reported_at > _LINE_SECONDS:
            self._reported_at = time.monotonic()
            render.say(f"{progress.partition}: {', '.join(words)}")

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._is_live:
            redraw()
