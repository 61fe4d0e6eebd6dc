"""`tailpipe warmup`: makes the archive of Java classes with which Spark starts faster."""

from __future__ import annotations

import os
from time import monotonic

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, examples, home_of
from tailpipe.errors import TailpipeError


@click.command("warmup", epilog=examples("tailpipe warmup"))
@common
def command(context: click.Context) -> None:
    """Make Spark start faster.

    Starts Spark once and stores the classes that it loads in an archive of about 80 MB in the cache directory. Later
    runs of collect and compact on this machine map the archive, which takes about a third off the start. It takes
    half a minute. Without this command the archive is made in the background, after the first run of collect or
    compact, and again after an update of Java or Spark.
    """
    home = home_of(context)
    settings, environment = home.settings.workspace.spark, home.environment
    from tailpipe.spark.archive import archive_for, make_archive
    from tailpipe.spark.conf import is_local
    from tailpipe.spark.java import find_java
    from tailpipe.spark.surroundings import may_write

    if settings.remote is not None or not is_local(settings.master):
        raise TailpipeError(
            f"this workspace runs on {settings.remote or settings.master}",
            hint="the archive is for a Spark that runs on this machine",
        )
    cache = environment.cache_dir
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not may_write(cache):
        raise TailpipeError(f'cannot write to "{cache}"', hint="change its permissions")
    java = find_java(os.environ, cache)
    archive = archive_for(settings, cache, java)
    if archive.is_made:
        render.say(f"up to date: {archive.path}")
        return
    render.say("starting Spark once; this takes about half a minute")
    begun = monotonic()
    log = cache / "warmup.log"
    if not make_archive(settings, cache, java, log):
        raise TailpipeError("Java wrote no archive", hint=f"see {log}; another warmup may be running")
    size = archive.path.stat().st_size / 1e6
    render.say(f"made {archive.path} ({size:,.0f} MB) in {monotonic() - begun:.0f} s")
