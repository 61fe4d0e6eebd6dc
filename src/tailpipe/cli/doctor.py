"""`tailpipe doctor`: verifies that collected files are complete and unchanged, and repairs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tailpipe.cli import render
from tailpipe.cli.again import located
from tailpipe.cli.options import common, examples, fail_if, home_of, output, refuse_locked, refuse_unpushed
from tailpipe.errors import UsageError
from tailpipe.home.home import Home
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import Unit
from tailpipe.operations.doctor import examine, examine_stores, rebuild, repair

if TYPE_CHECKING:
    pass

_MOST = 100
"""So many findings are shown one by one."""
_FEW = 5
FIELDS = ("problem", "path", "message", "partition", "unit", "repair")
COLUMNS = render.columns("problem", "message:details")


@click.command("doctor", epilog=examples("tailpipe doctor", "tailpipe doctor --stores", "tailpipe doctor --repair"))
@click.option("--checksums", is_flag=True, help="Verify the checksum of every file.")
@click.option("--stores", is_flag=True, help="Verify the objects of stores, too.")
@click.option(
    "--repair", "mode", flag_value="repair", help="Restore files and links, and mark lost days for collection."
)
@click.option("--rebuild", "mode", flag_value="rebuild", help="Rebuild a lost or damaged catalog from its manifests.")
@click.option(
    "--accept-loss",
    is_flag=True,
    help="Accept that an unmounted disk is lost; with --rebuild, also return to the last provable state"
    " if manifests are lost.",
)
@output
@common
def command(
    context: click.Context, checksums: bool, stores: bool, mode: str | None, accept_loss: bool, output: str
) -> None:
    """Verify files on disk against the catalog and report every difference.

    Exits with 1 if data is lost or needs repair. Changes nothing without --repair or --rebuild. Never deletes
    foreign files or the last copy of a file: the latter is moved aside.
    """
    home = home_of(context)
    if accept_loss and mode is None:
        raise UsageError("--accept-loss needs --repair or --rebuild")
    if mode == "rebuild":
        _rebuild(home, accept_loss)
    elif mode == "repair":
        _repair(home, checksums, accept_loss)
        if stores:
            _, count = examine_stores(home, with_checksums=checksums, is_repaired=True)
            if count:
                render.say(f"uploaded {render.counted(count, 'object')} again")
    findings = examine(home, with_checksums=checksums)
    lacking = examine_stores(home, with_checksums=checksums)[0] if stores else []
    findings += lacking
    if findings or output != "pretty":
        shown = findings[:_MOST] if output == "pretty" else findings
        render.records([{name: getattr(one, name) for name in FIELDS} for one in shown], output, COLUMNS)
        if len(findings) > len(shown):
            counts = Counter(finding.problem for finding in findings[_MOST:])
            more = ", ".join(f"{count:,} {problem}" for problem, count in counts.items())
            render.say(f"… and {more}; to list all: --output json")
    # A command that includes another one repairs all of it.
    repairs = sorted({finding.repair for finding in findings if finding.repair})
    if commands := [one for one in repairs if f"{one} --checksums" not in repairs]:
        render.say("to repair: " + " or ".join(commands))
        fail_if(commands)
    if any(finding.problem == "unmounted" for finding in findings):
        render.say("mount the disk and run doctor again; if the disk is lost: tailpipe doctor --repair --accept-loss")
        fail_if(findings)
    if lacking:
        render.say("cannot be repaired from this disk: it has no copies of these objects")
        fail_if(lacking)
    refuse_unpushed(home)
    if findings:
        render.say("no repair needed")
    else:
        unverified = "" if checksums else " (contents not verified; to verify: --checksums)"
        render.say(f"no problems found{unverified}")


def _rebuild(home: Home, accept_loss: bool) -> None:
    rebuilt = rebuild(home, accept_loss=accept_loss)
    render.say(
        f"catalog rebuilt from {render.counted(rebuilt.transactions, 'manifest')}:"
        f" {render.counted(rebuilt.files, 'file')} with {render.counted(rebuilt.rows, 'row')}"
    )
    if rebuilt.holes:
        lost = ", ".join(rebuilt.holes[:_FEW])
        render.say(f"lost: {lost}; {render.counted(rebuilt.cut, 'later transaction')} dropped")
    if rebuilt.orphans:
        render.say(f"moved to .tailpipe/set-aside: {render.counted(rebuilt.orphans, 'file')} that no manifest names")
    if rebuilt.set_aside:
        render.say(f"the old catalog was moved to {rebuilt.set_aside}")


def _repair(home: Home, checksums: bool, accept_loss: bool) -> None:
    done = repair(home, with_checksums=checksums, accept_loss=accept_loss)
    counts = {
        "linked": (done.relinked, "file"),
        "restored": (done.healed, "file"),
        "removed": (done.swept, "old file"),
        "moved to .tailpipe/set-aside:": (done.set_aside, "file"),
        "completed": (done.finished, "transaction"),
        "rewrote": (done.recorded, "manifest"),
    }
    parts = [f"{verb} {render.counted(count, noun)}" for verb, (count, noun) in counts.items() if count]
    parts += [f"marked {_marked(done.lost_units)} for collection"] if done.lost_units else []
    if parts or not done.remote:
        render.say(", ".join(parts) or "nothing repaired on this disk")
    if done.remote:
        render.say(f"{render.counted(done.remote, 'file')} lost from this disk; the store still has them")
    lost: dict[str, list[str]] = {}
    for partition, unit in done.lost_units:
        lost.setdefault(partition, []).append(unit)
    for partition, units in lost.items():
        how = f"while the logs exist, collect them again: tailpipe collect {partition}"
        render.say(located(f"{partition} {_listed(units)}: files are lost; {how}"))
    refuse_locked(done.locked)


def _marked(units: Sequence[tuple[str, str]]) -> str:
    """How many days, and packs of undated files, are to be collected again."""
    packs = sum(Unit.from_key(unit).day is None for _, unit in units)
    counts = {"day": len(units) - packs, "pack": packs}
    return " and ".join(render.counted(count, noun) for noun, count in counts.items() if count)


def _listed(units: Sequence[str]) -> str:
    """Days as spans, and few packs by their names."""
    keys = [Unit.from_key(unit) for unit in units]
    packs = [str(key) for key in keys if key.day is None]
    days = DaySet.of(key.day for key in keys if key.day is not None)
    spans = [render.days(days)] if days else []
    return ", ".join([*spans, *(packs if len(packs) <= _FEW else [render.counted(len(packs), "pack")])])
