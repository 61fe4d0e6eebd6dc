"""`tailpipe collect --follow`: the loop, its signals, and what it prints."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from datetime import datetime
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli import render
from tailpipe.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, UsageError
from tailpipe.follow import news
from tailpipe.model.visible import visible

if TYPE_CHECKING:
    from tailpipe.follow.loop import Loop
    from tailpipe.follow.notify import Notifier
    from tailpipe.follow.schedule import Paces
    from tailpipe.home.home import Home
    from tailpipe.operations.collect import Collect

_PATIENCE = 5.0
"""Seconds that a running commit has to end after SIGTERM, before the job is interrupted."""
_CUT = 10.0
_NOT_TOGETHER = ("start", "end", "fill", "overwrite", "accept_loss", "dry_run", "profile")
_FLAGS = {"start": "--from", "end": "--to"}
_PACES = {
    "every": ("10s", "Poll each partition this often."),
    "compact_every": ("10m", "Merge small files and drop expired days this often."),
    "push_every": ("1m", "Push to the store this often."),
    "detect_every": ("10s", "Run detections over new rows this often."),
    "idle_after": ("15m", "Stop Spark after this time without work."),
    "stuck_after": ("10m", "Report a run as stuck after this time, and continue with the others."),
}
"""Flags that take a duration, with their default and help."""


def follow_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let `collect` follow its sources."""
    options = [click.option("--follow", is_flag=True, help="Keep running and collect what is new.")]
    for name, (default, help) in _PACES.items():
        text = f"{help} With --follow; default: {default}."
        options.append(click.option(_flag(name), name, metavar="DURATION", help=text))
    options.append(
        click.option(
            "--status-address",
            metavar="ADDRESS",
            help="Serve /healthz, /readyz and /metrics there, such as 127.0.0.1:9464. With --follow.",
        )
    )
    for option in reversed(options):
        command = option(command)
    return command


def check_flags(flags: dict[str, Any]) -> None:
    """Refuse flags that make no sense together."""
    wrong = _NOT_TOGETHER if flags["follow"] else (*_PACES, "status_address")
    for flag in (_flag(name) for name in wrong if flags[name]):
        if flags["follow"]:
            raise UsageError(f"--follow cannot be combined with {flag}", hint=f"run tailpipe collect {flag} first")
        raise UsageError(f"{flag} needs --follow")


def _flag(name: str) -> str:
    return _FLAGS.get(name, "--" + name.replace("_", "-"))


def follow(context: click.Context, open_home: Callable[[], Home], request: Collect, flags: dict[str, Any]) -> None:
    """Run the loop until a signal ends it."""
    from tailpipe.follow.facts import CachedFacts, read_facts
    from tailpipe.follow.jobs import WorkspaceJobs
    from tailpipe.follow.loop import Loop
    from tailpipe.follow.notify import Notifier
    from tailpipe.follow.wakeups import Wakeups

    paces = _paces(flags)
    jobs = WorkspaceJobs(open_home, request, is_detecting=flags["detect"])
    wakeups, notifier = Wakeups(), Notifier(os.environ)
    printer = Printer(flags["output"])
    loop = Loop(jobs, paces, wakeups, printer, alive=notifier.alive)
    loop.watch = lambda: wakeups.watch(jobs.paths)
    facts = CachedFacts(lambda: read_facts(jobs.home))
    with ExitStack() as stack:
        stack.callback(printer.close)
        stack.callback(wakeups.close)
        stack.callback(jobs.close_engine)
        if flags["status_address"]:
            server = stack.enter_context(_served(loop, flags["status_address"], facts))
            printer.say(f"status: http://{server}/healthz, /readyz and /metrics")
        names = list(jobs.partitions)
        loop.report = _reporter(printer, notifier, loop)
        received = stack.enter_context(_signals(loop, notifier))
        printer.say(f"following {render.counted(len(names), 'partition')}, every {paces.every:g} s; Ctrl-C ends it")
        notifier.ready()
        loop.run()
        notifier.stopping()
        if not loop.end(patience=_PATIENCE, cut=_CUT):
            printer.say("a run does not end; the next run collects what it has not committed")
            stack.pop_all()
            jobs.close_engine()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(EXIT_INTERRUPTED if signal.SIGINT in received else EXIT_DONE)  # a thread hangs: do not wait for it
        printer.say("stopped")
    done = EXIT_DONE
    if not jobs.is_pushed:
        printer.say("the last push failed; everything is committed on this disk; to push: tailpipe push")
        done = EXIT_FAILED
    context.exit(EXIT_INTERRUPTED if signal.SIGINT in received else done)


def _paces(flags: dict[str, Any]) -> Paces:
    from tailpipe.follow.schedule import Paces

    seconds = (_seconds(name, flags[name] or default) for name, (default, _) in _PACES.items())
    every, maintain, push, detect, idle, stuck = seconds
    starved = min(Paces.starved, stuck)
    return Paces(every, maintain, push, detect, stuck=stuck, starved=starved, engine_idle=idle)


def _seconds(name: str, text: str) -> float:
    from tailpipe.model.duration import parse_duration

    try:
        seconds = parse_duration(text).total_seconds()
        if not 0.1 <= seconds <= 7 * 86400:
            raise ValueError(text)
    except ValueError:
        raise UsageError(
            f'{_flag(name)} "{text}" is not a duration from 0.1s to 7d', hint="such as 10s, 5m or 1h"
        ) from None
    return seconds


@contextmanager
def _served(loop: Loop, text: str, facts: Callable[[], Any]) -> Iterator[str]:
    from tailpipe import __version__
    from tailpipe.follow.metrics import metrics_text
    from tailpipe.follow.server import StatusServer, parse_address

    def metrics() -> str:
        loop.status.set(has_engine=loop.jobs.has_engine)
        return metrics_text(loop.status.state, facts(), now=loop.now(), version=__version__)

    server = StatusServer(parse_address(text), lambda: loop.status.state, metrics)
    try:
        yield server.address
    finally:
        server.close()


@contextmanager
def _signals(loop: Loop, notifier: Notifier) -> Iterator[list[int]]:
    """SIGTERM and Ctrl-C end the loop after the running commit, and at once if they come again; SIGHUP reloads."""
    received: list[int] = []

    def end(number: int, _: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            os._exit(128 + number)
        loop.stop()

    def reload(_: int, __: FrameType | None) -> None:
        notifier.reloading()
        loop.reload()

    handlers = {signal.SIGTERM: end, signal.SIGINT: end, signal.SIGHUP: reload}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _reporter(printer: Printer, notifier: Notifier, loop: Loop) -> Callable[[news.News], None]:
    def report(one: news.News) -> None:
        printer(one)
        if isinstance(one, news.Reloaded):
            notifier.ready()
        problems = loop.status.state.problems
        what = f"failing: {', '.join(problems)}" if problems else f"following {len(loop.jobs.partitions)} partitions"
        notifier.status(what)

    return report


class Printer:
    """Prints the events of the loop: a line for each run with rows, and JSON lines for programs.

    Into descriptors of its own: while a worker starts Spark, those of the process lead into Spark's log.
    """

    def __init__(
        self, output: str, clock: Callable[[], datetime] = datetime.now, streams: tuple[int, int] = (1, 2)
    ) -> None:
        self._is_json = output == "json"
        self._clock = clock
        self._out, self._err = (os.fdopen(os.dup(one), "w", encoding="utf-8", errors="replace") for one in streams)

    def close(self) -> None:
        """Give the descriptors back."""
        for stream in (self._out, self._err):
            with suppress(OSError):
                stream.close()

    def say(self, text: str) -> None:
        """Words for the person."""
        click.echo("\n".join(visible(line) for line in text.split("\n")), file=self._err)

    def __call__(self, one: news.News) -> None:
        """Print it."""
        now = self._clock()
        if self._is_json:
            record = {"time": now.astimezone().isoformat(timespec="milliseconds"), **_record(one)}
            click.echo(json.dumps(record, ensure_ascii=False, default=str), file=self._out)
        elif isinstance(one, news.Collected | news.TaskDone):
            click.echo(f"{now:%H:%M:%S}  {render.shown(_line(one))}", file=self._out)
        else:
            self.say(f"{now:%H:%M:%S}  {_line(one)}")


def _line(one: news.News) -> str:
    match one:
        case news.Collected(summary):
            accounts = summary.accounts
            others = {**accounts.elsewhere, "duplicate": accounts.duplicate}
            parts = [render.counted(accounts.kept, "row")]
            parts += [f"{count:,} {what}" for what, count in others.items() if count]
            return f"{summary.partition}: {', '.join(parts)} ({summary.seconds:.1f} s)"
        case news.Failing(name, error, retry, failures, is_stuck):
            if is_stuck:
                return f"{name}: stuck: {error}; the others continue"
            more = f" ({failures} times)" if failures > 1 else ""
            return f"{name}: failed{more}: {render.shown(error)}; retry in {retry:.0f} s"
        case news.Recovered(name):
            return f"{name}: works again"
        case news.TaskDone(_, message, _):
            return message
        case news.Reloaded(partitions, error):
            if error:
                return f"config not reloaded, the previous one stays in use:\n{error}"
            return f"config reloaded: {render.counted(partitions, 'partition')}"


_EVENTS = {news.Failing: "failing", news.Recovered: "recovered", news.TaskDone: "task_done", news.Reloaded: "reloaded"}


def _record(one: news.News) -> dict[str, Any]:
    if not isinstance(one, news.Collected):
        return {"event": _EVENTS[type(one)], **asdict(one)}
    summary = one.summary
    return {
        "event": "collected",
        "partition": summary.partition,
        "run": summary.run,
        **asdict(summary.accounts),
        "artifacts": sum(unit.artifacts for unit in summary.committed),
        "bytes": summary.bytes,
        "seconds": round(summary.seconds, 3),
        "units": sorted(summary.units),
    }
