"""Events of a CloudWatch log group: each day is asked for as a range of time, page by page."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tailpipe.plugin import Artifact, Source, TailpipeError, UsageError, Window, option
from tailpipe.plugins.aws.connection import Aws, imported
from tailpipe.plugins.aws.faults import code_of, is_expired, told

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["CloudWatchLogGroup"]

_BUSY_DAY = 256 * 1024 * 1024
"""A group that gets more bytes a day is asked for hour by hour, so that several tasks can share a day."""
_PASSES = 10
_NOWHERE = "ResourceNotFoundException"


def _check_group(name: str) -> None:
    if not name or "*" in name:
        raise UsageError("name one log group", hint="for several groups, write a source for each")


def _check_streams(names: Sequence[str]) -> None:
    if not all(names):
        raise UsageError("the name of a log stream cannot be empty")


def _check_overlap(days: int) -> None:
    if not 0 <= days <= 30:
        raise UsageError("overlap_days lies between 0 and 30")


class CloudWatchLogGroup(Source):
    """Reads the events of a log group of Amazon CloudWatch; the table's format reads their messages."""

    type = "aws_cloudwatch_log_group"
    envelope = True
    log_group_name: str = option("Name of the log group.", check=_check_group)
    log_stream_names: Sequence[str] = option(
        "Log streams to read, all if not given; `*` stands for any text, `?` for a character.",
        default=(),
        check=_check_streams,
    )
    filter_pattern: str | None = option("Filter pattern of CloudWatch; only events that match are read.", default=None)
    region: str | None = option("Region of the log group; that of the connection if not given.", default=None)
    overlap_days: int = option(
        "How many days are asked for again, because events may come late.", default=2, check=_check_overlap
    )
    connection: Aws = option("How to log in.", default=Aws())

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        """A range for each day of the window, or for each hour if the group is a busy one.

        Names do not depend on the streams or the pattern: whoever changes these gets the events that were
        not there before, and none twice.
        """
        group = self._group()
        hours, size = _spans(group, window.end)
        arn = str(group.get("logGroupArn") or group["arn"].removesuffix(":*"))
        for day in window.days():
            for hour in range(0, 24, hours):
                uri = f"{arn}/{day}" if hours == 24 else f"{arn}/{day}T{hour:02}"
                fields = {"tp_source_name": self.log_group_name}
                yield Artifact(uri, size=size, day=day, kind="range", fields=fields, path=uri)

    def open(self, artifact: Artifact) -> BinaryIO:
        """The events of the range, one envelope in each line; a page at a time is held in memory."""
        return cast("BinaryIO", io.BufferedReader(_Pages(self._lines(artifact)), 1024 * 1024))

    def _lines(self, artifact: Artifact) -> Iterator[bytes]:
        span = _span(artifact)
        asked: dict[str, Any] = {"startTime": _milliseconds(span.start), "endTime": _milliseconds(span.end) - 1}
        if self.filter_pattern:
            asked["filterPattern"] = self.filter_pattern
        wanted = [_pattern(name) for name in self.log_stream_names]
        prefixes = [re.split(r"[*?]", name)[0] for name in self.log_stream_names] or [""]
        if len(prefixes) > _PASSES:
            prefixes = [os.path.commonprefix(prefixes)]  # noqa: RUF071 - letters are meant
        for number, prefix in enumerate(prefixes):
            mine = wanted[number : number + 1] if len(prefixes) == len(wanted) else wanted
            before = wanted[:number]  # has been read in an earlier pass
            for page in self._pages({**asked, "logStreamNamePrefix": prefix} if prefix else asked):
                yield _envelopes(self.log_group_name, (one for one in page if _is_meant(one, asked, mine, before)))

    def _pages(self, asked: Mapping[str, Any]) -> Iterator[Sequence[Mapping[str, Any]]]:
        """The answers, one after the other; an answer may be empty and still not be the last."""
        token: dict[str, str] = {}
        while True:
            answer = self._ask("read", "filter_log_events", logGroupName=self.log_group_name, **asked, **token)
            yield answer.get("events", ())
            if not answer.get("nextToken"):
                return
            token = {"nextToken": answer["nextToken"]}

    def _group(self) -> Mapping[str, Any]:
        token: dict[str, str] = {}
        while True:
            answer = self._ask("find", "describe_log_groups", logGroupNamePrefix=self.log_group_name, **token)
            for group in answer.get("logGroups", ()):
                if group["logGroupName"] == self.log_group_name:
                    return cast("Mapping[str, Any]", group)
            if not answer.get("nextToken"):
                raise self._missing()
            token = {"nextToken": answer["nextToken"]}

    def _ask(self, verb: str, operation: str, **asked: Any) -> Mapping[str, Any]:
        exceptions = imported("botocore.exceptions")
        connection = self.connection
        is_renewed = False
        while True:
            try:
                client = connection.client("logs", self.region)
                return cast("Mapping[str, Any]", getattr(client, operation)(**asked))
            except (exceptions.BotoCoreError, exceptions.ClientError) as error:
                if is_expired(error) and not is_renewed:
                    connection.renew()
                    is_renewed = True
                elif code_of(error) == _NOWHERE and "stream" in str(error):
                    return {}  # no stream has such a name
                elif code_of(error) == _NOWHERE:
                    raise self._missing() from None
                else:
                    raise told(error, connection, f'{verb} log group "{self.log_group_name}"') from None

    def _missing(self) -> TailpipeError:
        region = self.region or self.connection.client("logs", self.region).meta.region_name
        return UsageError(
            f'there is no log group "{self.log_group_name}" in region {region}',
            hint=f'correct "log_group_name" or "region" of source "{self.name or self.type}"',
        )


class _Pages(io.RawIOBase):
    """Pieces of bytes, made one after the other, as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        view = memoryview(buffer).cast("B")
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _spans(group: Mapping[str, Any], now: datetime) -> tuple[int, int]:
    """How many hours a range has, and about how many bytes, as far as the group's size and age tell."""
    created = datetime.fromtimestamp(group.get("creationTime", 0) / 1000, UTC)
    days = min(max(1, (now - created).days), group.get("retentionInDays") or 10_000)
    a_day = int(group.get("storedBytes") or 0) // days
    return (1, a_day // 24) if a_day > _BUSY_DAY else (24, a_day)


def _span(artifact: Artifact) -> Window:
    """The time that a range is for: its day, or the hour that its name ends with."""
    assert artifact.day is not None  # noqa: S101 - each range has one
    _, _, hour = artifact.uri.rpartition("/")[2].partition("T")
    if not hour:
        return Window.of_day(artifact.day)
    start = datetime.combine(artifact.day, time(int(hour)), UTC)
    return Window(start, start + timedelta(hours=1))


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * 1000


def _pattern(name: str) -> re.Pattern[str]:
    """The streams that a name with wildcards stands for; a bracket is just a bracket, Lambda has them in all names."""
    return re.compile(re.escape(name).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def _is_meant(
    event: Mapping[str, Any],
    asked: Mapping[str, Any],
    wanted: Sequence[re.Pattern[str]],
    before: Sequence[re.Pattern[str]],
) -> bool:
    """Whether the event lies in the range and in a stream that is wanted: both is checked, whatever the server does."""
    stream = event.get("logStreamName", "")
    return (
        asked["startTime"] <= event["timestamp"] <= asked["endTime"]
        and (not wanted or any(one.fullmatch(stream) for one in wanted))
        and not any(one.fullmatch(stream) for one in before)
    )


def _envelopes(group: str, events: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(
        json.dumps(
            {
                "event_id": event["eventId"],
                "timestamp": event["timestamp"],
                "ingestion_time": event.get("ingestionTime"),
                "log_group": group,
                "log_stream": event.get("logStreamName"),
                "message": event.get("message", ""),
            },
            ensure_ascii=False,
        )
        + "\n"
        for event in events
    ).encode("utf-8", "replace")
