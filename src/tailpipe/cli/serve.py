"""`tailpipe serve`: the explorer, a page in the browser over what was collected."""

from __future__ import annotations

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, examples, home_of
from tailpipe.errors import TailpipeError

_EXTRA = ("starlette", "uvicorn", "h11", "anyio")


@click.command(
    "serve",
    epilog=examples(
        "tailpipe serve",
        "tailpipe serve --port 9000 --no-browser",
        "tailpipe serve --listen 0.0.0.0 --host-name logs.example.org --tls-cert cert.pem --tls-key key.pem",
    ),
)
@click.option(
    "--port",
    metavar="NUMBER",
    type=click.IntRange(0, 65535),
    help="Port to listen on. Defaults to the first free port from 8347; 0 chooses any free port.",
)
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
@click.option(
    "--listen",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Other addresses than loopback need TLS, and are read-only.",
)
@click.option("--host-name", "names", metavar="NAME", multiple=True, help="Another name of this machine. Repeatable.")
@click.option("--tls-cert", metavar="FILE", help="TLS certificate, as PEM.")
@click.option("--tls-key", metavar="FILE", help="Private key of the certificate, as PEM.")
@common
def command(
    context: click.Context,
    port: int | None,
    no_browser: bool,
    listen: str,
    names: tuple[str, ...],
    tls_cert: str | None,
    tls_key: str | None,
) -> None:
    """Explore collected logs in the browser.

    Serves a page on this machine to search, chart and query all tables. The printed address contains a token: anyone
    who has it can read the collected data while the server runs. Stop it with Ctrl-C. Needs the extra tailpipe[serve].
    """
    try:
        from tailpipe.serve.run import Listening, serve  # late, so that no other command loads it
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        hint = 'install it: pip install "tailpipe[serve]"'
        raise TailpipeError("tailpipe serve needs the extra serve", hint=hint) from error
    listening = Listening(listen, port, names, tls_cert, tls_key, opens_browser=not no_browser)
    serve(home_of(context), listening, render.data, render.say)
