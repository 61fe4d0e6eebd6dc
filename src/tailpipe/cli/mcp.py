"""`tailpipe mcp`: serves the logs to assistants that speak the Model Context Protocol."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, examples, flags_of, home_of
from tailpipe.errors import UsageError


@click.command(
    "mcp",
    epilog=examples("tailpipe mcp", "tailpipe mcp --allow-collect", "tailpipe mcp --http --port 9465 --timeout 10s"),
)
@click.option("--http", "is_http", is_flag=True, help="Serve streamable HTTP on 127.0.0.1 instead of stdio.")
@click.option(
    "--port",
    metavar="NUMBER",
    type=click.IntRange(0, 65535),
    default=9465,
    show_default=True,
    help="Port of --http; 0 picks a free one.",
)
@click.option("--allow-collect", is_flag=True, help="Also offer the tools collect and detect, which change data.")
@click.option(
    "--max-rows",
    metavar="NUMBER",
    type=click.IntRange(1, 100_000),
    default=1_000,
    show_default=True,
    help="Maximum number of rows per answer.",
)
@click.option(
    "--max-bytes",
    metavar="NUMBER",
    type=click.IntRange(1_000, 10_000_000),
    default=65_536,
    show_default=True,
    help="Maximum size of an answer.",
)
@click.option("--timeout", metavar="DURATION", default="30s", show_default=True, help="Time limit per reading call.")
@common
def command(context: click.Context, /, **flags: Any) -> None:
    """Serve the logs to assistants by the Model Context Protocol (MCP).

    Speaks over stdin and stdout, or over HTTP with a token: that of the environment variable TAILPIPE_MCP_TOKEN, or a
    random one, which is printed. Tools read only, unless --allow-collect is given. Needs the extra tailpipe[mcp].
    """
    try:
        import mcp.server.mcpserver  # noqa: F401 - late, because it is an extra
    except ImportError:
        raise UsageError("the MCP server needs the package mcp", hint="pip install 'tailpipe[mcp]'") from None
    from tailpipe.home.home import Home
    from tailpipe.mcp_server import answers
    from tailpipe.mcp_server.limits import Limits
    from tailpipe.mcp_server.reading import prepared
    from tailpipe.mcp_server.server import Access, make_server
    from tailpipe.mcp_server.work import Worker
    from tailpipe.query.limit import parse_timeout
    from tailpipe.workers.pool import Workers

    limits = Limits(most_rows=flags["max_rows"], bytes=flags["max_bytes"], seconds=parse_timeout(flags["timeout"]))
    _ = home_of(context).config  # a broken one is reported now, to whoever starts the server
    location = flags_of(context)
    opened = partial(Home.open, **location)
    worker = Worker()
    workers = Workers(partial(prepared, opened), worker.at_once, (prepared.__module__, answers.__name__))
    words = tuple(f"--{name.replace('_', '-')}={value}" for name, value in sorted(location.items()) if value)
    access = Access(workers, limits, worker, words)
    server = make_server(access, may_act=flags["allow_collect"])
    if not flags["is_http"]:
        server.run("stdio")
        return
    from tailpipe.mcp_server.http import HOST, PATH, listening, new_token, serve

    given = os.environ.get("TAILPIPE_MCP_TOKEN")
    token = new_token(given)
    bound = listening(flags["port"])
    render.say(f"serving http://{HOST}:{bound.getsockname()[1]}{PATH}")
    if given is None:
        render.say(f"token: {token}")
    serve(server, token, bound)
