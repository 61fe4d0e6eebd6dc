"""`tailpipe query`: a question in SQL, answered at once from what was collected."""

from __future__ import annotations

import time

import click

from tailpipe.cli import render
from tailpipe.cli.answer import ANSWERS, print_answer
from tailpipe.cli.narrowing import Narrowed, narrowing
from tailpipe.cli.options import common, examples, workspace_of

__all__ = ["command"]


@click.command(
    "query",
    epilog=examples(
        'tailpipe query "FROM app_log LIMIT 10"',
        'tailpipe query "SELECT level, count(*) FROM app_log GROUP BY ALL" --output csv',
        'tailpipe query "DESCRIBE app_log"',
    ),
)
@click.argument("sql", metavar="SQL")
@click.option(
    "--output",
    type=click.Choice(ANSWERS),
    default="pretty",
    show_default=True,
    help="How the answer is printed.",
)
@narrowing
@common
@click.pass_context
def command(context: click.Context, sql: str, output: str, narrowed: Narrowed) -> None:
    """Answer one statement of DuckDB's SQL over all tables, as they are at this moment.

    Each day is there from the moment it is committed, also while others are being collected. Times are
    UTC. A statement can only read, and only what was collected. Number of rows and time go to stderr.
    """
    begun = time.monotonic()
    with narrowed(workspace_of(context)) as session:
        answer = session.run(sql)
        count, left_out = print_answer(answer.columns, answer.types, answer.rows, output)
    render.say(f"{count}, {time.monotonic() - begun:.2f} s" + (f"; {left_out}" if left_out else ""))
