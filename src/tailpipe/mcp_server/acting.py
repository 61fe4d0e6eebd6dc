"""What changes data: collect and detect, each a process of its own that ends cleanly when its call is cancelled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tailpipe.errors import TailpipeError, UsageError
from tailpipe.mcp_server.limits import Limits, Rows, joined
from tailpipe.mcp_server.work import Stop

_TALK = 4_000
"""Characters of messages in an answer."""


def collect(
    stop: Stop, flags: Sequence[str], partitions: Sequence[str], start: str | None, end: str | None
) -> dict[str, Any]:
    """Run `tailpipe collect`; its report."""
    if end and not start:
        raise UsageError("end needs start")
    window = [f"{flag}={text}" for flag, text in (("--from", start), ("--to", end)) if text]
    return _run(stop, ["collect", *flags, *window], partitions)


def detect(stop: Stop, limits: Limits, flags: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """Run `tailpipe detect` over new rows; its report."""
    done = _run(stop, ["detect", *flags], names)
    report = done["report"]
    found = [one for one in report.get("detections", ()) if one["hits"] or one["error"] or one["known_hits"]]
    rows = Rows(limits, limits.rows).take(hit for one in found for hit in one["hits"])
    short = [{**one, "hits": len(one["hits"])} for one in found]
    facts = {"is_first_run": report.get("is_first_run"), "alerts": report.get("alerts")}
    return {**done, "report": {**facts, "detections": short, "hits": rows.kept}, **joined(rows.truncated)}


def _run(stop: Stop, words: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """Run a command of ours; names are never taken for flags, and the command reads nothing from our input."""
    command = [sys.executable, "-m", "tailpipe", *words, "--output", "json", "--", *names]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=_environment(os.environ),
    ) as process:

        def end() -> None:
            if not ended:
                ended.append(True)
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGINT)

        ended: list[bool] = []
        with stop.ending(end):
            out, talk = process.communicate()
    messages = talk.decode("utf-8", "replace").strip()[-_TALK:]
    if process.returncode == 2 or not out.strip():
        raise TailpipeError(messages or f"tailpipe {words[0]} ended with exit code {process.returncode}")
    return {"exit_code": process.returncode, "report": json.loads(out), "messages": messages}


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without the token of this server, which no other process needs."""
    return {name: value for name, value in env.items() if name != "TAILPIPE_MCP_TOKEN"}
