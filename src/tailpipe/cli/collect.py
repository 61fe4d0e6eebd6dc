"""`tailpipe collect`: runs the sources of partitions and writes what they give into the workspace."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.cli.again import Typed, located
from tailpipe.cli.follow import check_flags, follow, follow_options
from tailpipe.cli.logs import log_from
from tailpipe.cli.options import between, common, completes, examples, fail_if, home_of, output_of
from tailpipe.errors import UsageError
from tailpipe.home.home import Home
from tailpipe.model.window import requested_window
from tailpipe.operations.collect import Collect, collect, preview
from tailpipe.operations.detect import begin_detections
from tailpipe.operations.facts import days_out_of_window

if TYPE_CHECKING:
    from tailpipe.collect.events import Report, Summary

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


_OPTIONS = ("overwrite", "fill", "accept_loss", "skip_bad_artifacts", "compact", "push")
"""Flags that are named as the fields of the request."""


class CollectCommand(click.Command):
    """Takes `--progress=false`, `--compact=false` and `--push=false` too, as scripts of other tools write it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let a boolean flag have a value."""
        words: dict[str, str] = {}
        for name in ("progress", "compact", "push"):
            words |= {f"--{name}=false": f"--no-{name}", f"--{name}=true": f"--{name}"}
        return super().parse_args(ctx, [words.get(arg, arg) for arg in args])


@click.command(
    "collect",
    cls=CollectCommand,
    epilog=examples(
        "tailpipe collect",
        "tailpipe collect app_log.local --from T-7d",
        "tailpipe collect app_log.local --from 2024-03-05 --to 2024-03-05",
        "tailpipe collect 'aws_*' --dry-run",
        "tailpipe collect app_log.local file",
        "tailpipe collect --follow --every 30s --status-address 127.0.0.1:9464",
    ),
)
@click.argument(
    "selectors", metavar="[SELECTOR]...", nargs=-1, shell_complete=completes(lambda home: list(home.config.partitions))
)
@between("Start time, such as 2024-01-31, 2024-01-31T10:00Z or T-7d.")
@click.option("--fill", is_flag=True, help="Also collect days since the oldest one that no run has requested.")
@click.option("--overwrite", is_flag=True, help="Collect again and replace the rows of unchanged artifacts.")
@click.option("--accept-loss", is_flag=True, help="Let --overwrite leave days without rows.")
@click.option("--dry-run", is_flag=True, help="Print the plan without collecting.")
@click.option("--skip-bad-artifacts", is_flag=True, help="Skip unreadable artifacts instead of failing the day.")
@click.option("--compact/--no-compact", default=True, help="Merge small files after the run.", show_default=True)
@click.option("--push/--no-push", default=True, help="Push to the store after each commit.", show_default=True)
@click.option("--detect", is_flag=True, help="Run detections over the new rows after the run.")
@click.option("--progress/--no-progress", default=True, help="Show progress.", show_default=True)
@click.option("--profile", is_flag=True, help="Show where wall and CPU time went. The JSON report always has it.")
@output_of("pretty", "json", help="Report format.")
@follow_options
@common
def command(context: click.Context, /, selectors: tuple[str, ...], **flags: Any) -> None:
    """Collect the selected partitions, or all of them.

    A SELECTOR is a table, a partition or a pattern: app_log, app_log.local, 'aws_*', '*.prod'. To collect a
    single source, add its name after a partition.

    The first run collects the last 30 days, newest first. Later runs continue from the last collected day and
    retry incomplete days. --from without --to goes back to that day and skips what is already collected; a window
    with --to is collected once and does not affect later runs. Each day is committed atomically and can be queried
    immediately.

    With --follow it keeps running: it polls the sources, and changed files wake it at once. SIGTERM ends it after the
    running commit, SIGHUP reloads the config.
    """
    home = home_of(context)
    if home.config.is_empty:
        _show_example(home)
    log_from(home.settings.log_levels, home.config.secrets)
    check_flags(flags)
    chosen, source = _chosen(home, selectors)
    if flags["follow"]:
        _follow(context, selectors, flags)
        return
    if flags["accept_loss"] and not flags["overwrite"]:
        raise UsageError("--accept-loss needs --overwrite")
    from tailpipe.cli.pushes import report_unpushed
    from tailpipe.cli.report import print_preview, print_profile, print_report

    now = datetime.now(UTC)
    request = Collect(
        now,
        requested_window(flags["start"], flags["end"], now=now),
        **{name: flags[name] for name in _OPTIONS},
        partitions=chosen,
        source=source,
        command=_typed_command(),
    )
    if flags["dry_run"]:
        print_preview(preview(home, request), flags["output"], Typed.of(source, flags))
        return
    if flags["detect"]:
        begin_detections(home)
    typed = Typed.of(source, flags)
    report = _collected(home, request, flags["progress"])
    unpushed = report.unpushed
    print_report(report, flags["output"], partial(days_out_of_window, home), typed)
    refused = [one.partition for one in report.partitions if one.is_refused]
    if refused and flags["output"] == "pretty" and _accepts_loss(refused):
        report = _collected(
            home, replace(request, now=datetime.now(UTC), partitions=refused, accept_loss=True), flags["progress"]
        )
        unpushed = (*(name for name in unpushed if name not in refused), *report.unpushed)
        print_report(report, flags["output"], partial(days_out_of_window, home), typed)
    if flags["profile"] and flags["output"] == "pretty":
        print_profile(report)
    _suggest_overwrite(home, [one for one in report.partitions if not one.accounts.kept], typed)
    is_detected = True
    if flags["detect"]:
        from tailpipe.cli.detect import detect_now

        is_detected = detect_now(home)
    report_unpushed(unpushed)
    fail_if(not (report.is_done and is_detected) or unpushed)


def _collected(home: Home, request: Collect, is_shown: bool) -> Report:
    """The report of a run, whose progress is shown meanwhile."""
    from tailpipe.cli.progress import Display

    display = Display(is_shown)
    try:
        return collect(home, request, display)
    except KeyboardInterrupt:
        display.close()
        render.say("committed days are kept; to continue, run the same command again")
        raise
    finally:
        display.close()


def _accepts_loss(partitions: Sequence[str]) -> bool:
    """Whether the user wants to overwrite days although they would have no rows any more."""
    if not sys.stdin.isatty():
        return False
    return click.confirm(f"Overwrite these days of {', '.join(partitions)} anyway?", err=True)


def _follow(context: click.Context, selectors: tuple[str, ...], flags: dict[str, Any]) -> None:
    def opened() -> Home:
        home: Home = home_of(context)
        log_from(home.settings.log_levels, home.config.secrets)
        if home.config.is_empty:
            raise UsageError("the config has no partitions", hint="see: tailpipe collect --help")
        return home

    names, source = _chosen(opened(), selectors)
    chosen = names if source is not None else selectors  # patterns hold for partitions that are added later
    options = {name: flags[name] for name in ("skip_bad_artifacts", "compact", "push")}
    request = Collect(datetime.now(UTC), **options, partitions=chosen, source=source, command=_typed_command())
    follow(context, opened, request, flags)


def _typed_command() -> str:
    return shlex.join(["tailpipe", *sys.argv[1:]])


def _chosen(home: Home, selectors: tuple[str, ...]) -> tuple[list[str], str | None]:
    """The partitions, and the one source of a single partition if the second word names one."""
    from tailpipe.model.selector import select

    known = list(home.config.partitions)
    if len(selectors) == 2:
        first = select(selectors[:1], known)
        if len(first) == 1 and any(one.name == selectors[1] for one in home.config.partitions[first[0]].sources):
            return first, selectors[1]
    return select(selectors, known), None


def _suggest_overwrite(home: Home, empty: Sequence[Summary], typed: Typed) -> None:
    """How to collect rows again that were all rejected or filtered: a plain collect skips them."""
    held = home.held() if empty else {}
    for one in empty:
        name, totals = one.partition, held.get(one.partition)
        if totals is not None and totals.rows:
            continue
        again = located(typed.overwrite(name, one.committed_since))
        if one.accounts.out_of_window:
            continue  # they fit; the report names the days to request
        if totals is not None and totals.rejected_rows:
            rejected = render.counted(totals.rejected_rows, "row")
            render.say(f"{name}: no rows collected, {rejected} rejected; fix the config, then run: {again}")
        elif one.accounts.filtered:
            filtered = render.counted(one.accounts.filtered, "row")
            render.say(f"{name}: no rows collected, {filtered} filtered; fix the filter, then run: {again}")


def _show_example(home: Home) -> None:
    place = home.environment.config_paths[0]
    target = place if place.suffix == ".tpc" else place / "app.tpc"
    render.say(f"The config has no partitions. Add one to {target}, for example:\n")
    render.say(EXAMPLE)
    raise UsageError("nothing to collect", hint="then run: tailpipe config check && tailpipe collect")
