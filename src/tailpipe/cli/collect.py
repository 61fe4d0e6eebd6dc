"""`tailpipe collect`: runs the sources of partitions and writes what they give into the workspace."""

from __future__ import annotations

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, completes, examples, log_from, workspace_of
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.model.selector import select

__all__ = ["command"]

EXAMPLE = """\
table "app_log" {
  format = format.jsonl.default

  column "tp_timestamp" {
    source = "time"
  }
}

partition "app_log" "local" {
  source "file" {
    paths = ["/var/log/app"]
  }
}
"""


@click.command(
    "collect", epilog=examples("tailpipe collect", "tailpipe collect app_log.local", "tailpipe collect 'aws_*'")
)
@click.argument(
    "selectors", metavar="[SELECTOR]...", nargs=-1, shell_complete=completes(lambda w: list(w.config.partitions))
)
@common
@click.pass_context
def command(context: click.Context, selectors: tuple[str, ...]) -> None:
    """Collect the partitions that the SELECTORs name; all of them without one.

    A SELECTOR is a table, a table and a partition, or a pattern: app_log, app_log.local, 'aws_*', '*.prod'.
    """
    workspace = workspace_of(context)
    config = workspace.config
    if config.is_empty:
        place = workspace.environment.config_paths[0]
        target = place if place.suffix == ".tpc" else place / "app.tpc"
        render.say(f"There is no partition in the config yet. Put something like this into {target}:\n")
        render.say(EXAMPLE)
        raise UsageError("nothing to collect", hint="then run: tailpipe config check && tailpipe collect")
    chosen = select(selectors, config.partitions)
    workspace.prepare()
    log_from(workspace.settings.log_level)
    raise TailpipeError(
        f"this version reads and checks the config, but does not collect yet: {', '.join(chosen)}",
        hint="collecting comes with the next version",
    )
