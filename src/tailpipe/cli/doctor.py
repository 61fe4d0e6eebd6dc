"""`tailpipe doctor`: is everything that was collected still there, and as it was?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, examples, output, refuse_locked, workspace_of
from tailpipe.errors import EXIT_FAILED
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import Unit
from tailpipe.workspace import Workspace

if TYPE_CHECKING:
    from tailpipe.catalog.doctor import Finding

__all__ = ["command"]

_MOST = 100
"""So many findings are shown one by one."""
_FEW = 5
COLUMNS = {"trouble": "trouble", "message": "what was found"}


@click.command("doctor", epilog=examples("tailpipe doctor", "tailpipe doctor --checksums", "tailpipe doctor --repair"))
@click.option("--checksums", is_flag=True, help="Read every byte again and compare it with its checksum.")
@click.option("--repair", "mode", flag_value="repair", help="Restore links, remove leftovers, mark lost days.")
@click.option(
    "--rebuild", "mode", flag_value="rebuild", help="Write a lost or damaged catalog again from its manifests."
)
@output
@common
@click.pass_context
def command(context: click.Context, checksums: bool, mode: str | None, output: str) -> None:
    """Compare the files on disk with the catalog, and print every difference.

    Exits with 1 if something needs repair. Without --repair or --rebuild nothing is changed, and a file
    that is not tailpipe's own is never removed.
    """
    workspace = workspace_of(context)
    if mode == "rebuild":
        _rebuild(workspace)
    elif mode == "repair":
        _repair(workspace, checksums)
    findings = workspace.examine(with_checksums=checksums)
    commands = sorted({finding.repair for finding in findings if finding.repair})
    if findings or output != "pretty":
        shown = findings[:_MOST] if output == "pretty" else findings
        render.records([asdict(finding) for finding in shown], output, COLUMNS)
        if len(findings) > len(shown):
            render.say(f"… and {_troubles(findings[_MOST:])}; --output json has all of them")
    if commands:
        render.say("repair with: " + " or ".join(commands))
        context.exit(EXIT_FAILED)
    render.say("all is well" if not findings else "nothing needs repair")


def _rebuild(workspace: Workspace) -> None:
    rebuilt = workspace.rebuild()
    render.say(
        f"the catalog was rebuilt from {rebuilt.transactions:,} manifests:"
        f" {rebuilt.files:,} files with {rebuilt.rows:,} rows"
    )
    if rebuilt.set_aside:
        render.say(f"the old one is {rebuilt.set_aside}")


def _repair(workspace: Workspace, checksums: bool) -> None:
    done = workspace.repair(with_checksums=checksums)
    render.say(f"linked {done.relinked:,}, swept {done.swept:,}, finished {done.finished:,} transactions")
    lost: dict[str, list[str]] = {}
    for partition, unit in done.lost_units:
        lost.setdefault(partition, []).append(unit)
    for partition, units in lost.items():
        how = f"the next tailpipe collect {partition} brings them back if the logs are still there"
        render.say(f"{partition} {_listed(units)} has lost files: {how}")
    refuse_locked(done.locked)


def _troubles(findings: Sequence[Finding]) -> str:
    """How many there are of each kind."""
    counts = Counter(finding.trouble for finding in findings)
    return ", ".join(f"{count:,} {trouble}" for trouble, count in counts.items())


def _listed(units: Sequence[str]) -> str:
    """Days as spans, and packs by their names, if there are few of them."""
    keys = [Unit.from_key(unit) for unit in units]
    packs = [str(key) for key in keys if key.day is None]
    days = DaySet.of(key.day for key in keys if key.day is not None)
    told = [render.days(days)] if days else []
    return ", ".join([*told, *(packs if len(packs) <= _FEW else [render.counted(len(packs), "pack")])])
