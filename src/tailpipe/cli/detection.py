"""`tailpipe detection`: lists, shows and tests detections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, completes, examples, fail_if, home_of, output, output_with_tpc
from tailpipe.config.detections import find_detection
from tailpipe.model.detection import Detection

if TYPE_CHECKING:
    from tailpipe.home.home import Home

COLUMNS = render.columns("name:detection", "severity", "table", "enabled", "title")
CASES = render.columns("detection", "case", "result", "reason")
_NAMES = completes(lambda home: sorted(home.detections.known))


command = click.Group("detection", help="List, show and test detections.")


@command.command("list", epilog=examples("tailpipe detection list", "tailpipe detection list --all --output json"))
@click.option(
    "--all", "with_others", is_flag=True, help="Also list detections of plugins that no config block selects."
)
@output
@common
def list_(context: click.Context, with_others: bool, output: str) -> None:
    """List the detections that run."""
    home = home_of(context)
    known = home.detections.known if with_others else home.detections.enabled
    records = [_record(home, known[name]) for name in sorted(known)]
    render.records(records, output, COLUMNS)
    if not records:
        render.say("no detections; add a detection block, or select those of plugins with a detections block")


@command.command(
    "show", epilog=examples("tailpipe detection show root_login", "tailpipe detection show root_login --output tpc")
)
@click.argument("name", shell_complete=_NAMES)
@output_with_tpc
@common
def show(context: click.Context, name: str, output: str) -> None:
    """Show the detection NAME, of the config or of a plugin."""
    home = home_of(context)
    detection = find_detection(name, home.detections.known)
    if output == "tpc":
        from tailpipe.config.encoder import encode
        from tailpipe.config.printer import print_body
        from tailpipe.config.syntax import Body

        render.data(print_body(Body([], [encode("detection", detection)])).rstrip("\n"))
        return
    record = _record(home, detection)
    if output == "pretty":
        record |= {name: len(record[name]) for name in ("must_hit", "must_not_hit")}
    render.record(record, output)


@command.command("test", epilog=examples("tailpipe detection test", "tailpipe detection test 'aws_*' --output json"))
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=_NAMES)
@output
@common
def test(context: click.Context, names: tuple[str, ...], output: str) -> None:
    """Run detections on the events in their must_hit and must_not_hit. No collected data is read.

    NAME is a detection, or a pattern such as 'aws_*'. Without one, all detections that run are tested. The exit code
    is 1 if an event gives another result than it must.
    """
    from tailpipe.home.detections import select_detections
    from tailpipe.operations.detect import try_detection

    home = home_of(context)
    chosen = select_detections(names, home.detections.known if names else home.detections.enabled)
    records, failed = [], 0
    for detection in chosen:
        cases = try_detection(home, detection)
        failed += sum(not case.is_passed for case in cases)
        records += [_case(detection, case) for case in cases]
    render.records(records, output, CASES)
    untested = [one.name for one in chosen if not one.must_hit]
    if untested:
        render.say(f"no must_hit event: {', '.join(untested[:10])}" + (" …" if len(untested) > 10 else ""))
    render.say(f"{render.counted(len(records), 'event')} tested, {failed} failed")
    fail_if(failed)


def _case(detection: Detection, case: Any) -> dict[str, Any]:
    reason = case.failure or ("" if case.is_passed else render.counted(case.hits, "hit"))
    result = "passed" if case.is_passed else "failed"
    return {"detection": detection.name, "case": f"{case.kind} {case.number}", "result": result, "reason": reason}


def _record(home: Home, detection: Detection) -> dict[str, Any]:
    from tailpipe.config.encoder import plain_data

    is_own = not detection.is_shipped
    return {
        "name": detection.name,
        "plugin": None if is_own else home.registry.owner("detection", detection.name),
        "enabled": detection.name in home.detections.enabled,
        **{key: value for key, value in plain_data(detection).items() if key != "name"},
        "version": detection.version,
    }
