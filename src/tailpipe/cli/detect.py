"""`tailpipe detect`: runs detections over new rows, stores hits and sends alerts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.cli.crash import attempt_of
from tailpipe.cli.logs import log_from
from tailpipe.cli.options import between, common, completes, examples, fail_if, home_of, pretty_or_json
from tailpipe.errors import UsageError
from tailpipe.model.detection import SEVERITIES
from tailpipe.model.window import requested_window
from tailpipe.operations.detect import Detect, deliver, detect

if TYPE_CHECKING:
    from tailpipe.detect.deliver import Delivered
    from tailpipe.detect.run import Run
    from tailpipe.home.home import Home

COLUMNS = render.columns("detection", "severity", "new:new hits", "known", "title")


@click.command(
    "detect",
    epilog=examples(
        "tailpipe detect",
        "tailpipe detect root_login --dry-run",
        "tailpipe detect --from T-7d",
        "tailpipe detect --retry",
    ),
)
@click.argument(
    "names", metavar="[NAME]...", nargs=-1, shell_complete=completes(lambda one: sorted(one.detections.enabled))
)
@between("Search rows from this time on, seen before or not.", "End time of --from. A bare date includes that day.")
@click.option("--dry-run", is_flag=True, help="Print the hits without storing or sending them.")
@click.option("--notify/--no-notify", default=None, help="Send alerts [default: yes, but not with --from].")
@click.option("--retry", is_flag=True, help="Send all waiting alerts now, and those that were given up.")
@pretty_or_json
@common
def command(context: click.Context, /, names: tuple[str, ...], **flags: Any) -> None:
    """Run detections over rows collected since the last run. Store each hit once and send alerts.

    NAME is a detection, or a pattern such as 'aws_*'. Without one, all detections run. The first run only notes where
    to start: use --from to search rows that were collected before it. Hits are rows of the table detection_hit. The
    exit code is 1 if a detection fails; the others run.
    """
    home = home_of(context)
    log_from(home.settings.log_levels, home.config.secrets)
    if flags["end"] is not None and flags["start"] is None:
        raise UsageError("--to needs --from")
    now = datetime.now(UTC)
    window = requested_window(flags["start"], flags["end"], now=now)
    if not home.detections.enabled:
        hint = "add a detection block, or select those of plugins with a detections block"
        raise UsageError("the config has no detections", hint=hint)
    request = Detect(now, names, window, flags["dry_run"], flags["notify"])
    run = detect(home, request, attempt_of(context))
    delivered = None
    if not flags["dry_run"] and flags["notify"] is not False:
        delivered = deliver(home, retry=flags["retry"])
    report(run, delivered, flags["output"])
    fail_if(any(one.failure for one in run.results))


def detect_now(home: Home) -> bool:
    """Run all detections after a collection and report them; whether none failed."""
    run = detect(home, Detect(datetime.now(UTC)))
    report(run, deliver(home), "pretty", is_talk=True)
    return not any(one.failure for one in run.results)


def report(run: Run, delivered: Delivered | None, output: str, *, is_talk: bool = False) -> None:
    """Print what was found and sent; as talk if the data of the command is something else."""
    found = [one for one in run.results if one.hits or one.known]
    found.sort(key=lambda one: (-SEVERITIES.index(one.detection.severity), one.detection.name))
    if output == "json":
        render.record(_record(run, delivered), output)
    elif found and not is_talk:
        records = [
            {
                "detection": one.detection.name,
                "severity": one.detection.severity,
                "new": len(one.hits),
                "known": one.known,
                "title": one.detection.title,
            }
            for one in found
        ]
        render.records(records, "pretty", COLUMNS)
    for one in run.results:
        if one.failure:
            hint = "once it is fixed, the next run also searches the rows that it missed"
            render.problem(f'detection "{one.detection.name}" failed: {one.failure}', hint)
    new, failed = sum(len(one.hits) for one in run.results), sum(bool(one.failure) for one in run.results)
    ran = render.counted(len(run.results), "detection") + " run" + (f", {failed} failed" if failed else "")
    stored = " (not stored: --dry-run)" if run.request.dry_run and new else ""
    render.say(f"{ran}: {render.counted(new, 'new hit')}{stored}")
    if run.is_first and run.request.window is None:
        render.say(
            "first run: detections start with rows collected from now on; for older rows: tailpipe detect --from T-30d"
        )
    _report_alerts(delivered)


def _report_alerts(delivered: Delivered | None) -> None:
    if delivered is None or not (delivered.sent or delivered.waiting):
        return
    lost = [one for one in delivered.waiting if one.is_given_up]
    waits = len(delivered.waiting) - len(lost)
    parts = [f"{render.counted(delivered.sent, 'alert')} sent", f"{waits} waiting" if waits else ""]
    parts.append(f"{len(lost)} given up" if lost else "")
    render.say(", ".join(filter(None, parts)) + ("; see: tailpipe status" if delivered.waiting else ""))


def _record(run: Run, delivered: Delivered | None) -> dict[str, Any]:
    return {
        "is_first_run": run.is_first,
        "detections": [
            {
                "name": one.detection.name,
                "severity": one.detection.severity,
                "title": one.detection.title,
                "hits": [hit.record for hit in one.hits],
                "known_hits": one.known,
                "error": one.failure or None,
            }
            for one in run.results
        ],
        "alerts": None if delivered is None else {"sent": delivered.sent, "waiting": len(delivered.waiting)},
    }
