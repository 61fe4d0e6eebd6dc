"""`tailpipe doctor`: is everything that was collected still there, and as it was?"""

from __future__ import annotations

from dataclasses import asdict

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, examples, output, refuse_locked, workspace_of
from tailpipe.errors import EXIT_FAILED
from tailpipe.workspace import Workspace

__all__ = ["command"]

COLUMNS = {"trouble": "trouble", "message": "what was found"}


@click.command("doctor", epilog=examples("tailpipe doctor", "tailpipe doctor --checksums", "tailpipe doctor --repair"))
@click.option("--checksums", is_flag=True, help="Read every byte again and compare it with its checksum.")
@click.option("--repair", "mode", flag_value="repair", help="Link, sweep, and mark lost days to be collected again.")
@click.option(
    "--rebuild", "mode", flag_value="rebuild", help="Write a lost or damaged catalog anew from its manifests."
)
@output
@common
@click.pass_context
def command(context: click.Context, checksums: bool, mode: str | None, output: str) -> None:
    """Hold the files on disk against the catalog, and tell every difference.

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
        render.records([asdict(finding) for finding in findings], output, COLUMNS)
    if commands:
        render.say("repair with: " + " or ".join(commands))
        context.exit(EXIT_FAILED)
    render.say("all is well" if not findings else "nothing needs repair")


def _rebuild(workspace: Workspace) -> None:
    rebuilt = workspace.rebuild()
    render.say(
        f"the catalog was told again from {rebuilt.transactions:,} manifests:"
        f" {rebuilt.files:,} files with {rebuilt.rows:,} rows"
    )
    if rebuilt.set_aside:
        render.say(f"the old one is {rebuilt.set_aside}")


def _repair(workspace: Workspace, checksums: bool) -> None:
    done = workspace.repair(with_checksums=checksums)
    render.say(f"linked {done.relinked:,}, swept {done.swept:,}, finished {done.finished:,} transactions")
    for partition, unit in done.lost_units:
        how = f"the next tailpipe collect {partition} brings them back if the logs are still there"
        render.say(f"{partition} {unit} has lost files: {how}")
    refuse_locked(done.locked)
