"""Events of a CloudWatch log group: each day is requested as a range of time, page by page."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any, cast

from tailpipe.plugin import Artifact, Event, Source, TailpipeError, UsageError, Window, option, pages_by_token
from tailpipe.plugins.aws.connection import Aws, imported
from tailpipe.plugins.aws.faults import code_of, explained, request
from tailpipe.plugins.checks import check_overlap

_BUSY_DAY = 256 * 1024 * 1024
"""A group that gets more bytes a day is requested hour by hour, so that several tasks can share a day."""
_PASSES = 10
_MOST_GROUPS = 2_000
_STANDARD = "STANDARD"
_UNREADABLE = "events of this log class cannot be read; use a group of class STANDARD, or deliver to a bucket"
_NOWHERE = "ResourceNotFoundException"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _check_groups(names: str | Sequence[str]) -> None:
    if not names or not all(names):
        raise UsageError("name a log group", hint='"/aws/lambda/orders", or "/aws/lambda/*" for several')


def _check_streams(names: Sequence[str]) -> None:
    if not all(names):
        raise UsageError("the name of a log stream cannot be empty")


class CloudWatchLogGroup(Source):
    """Reads the events of Amazon CloudWatch log groups. The table's format parses the messages."""

    type = "aws_cloudwatch_log_group"
    yields_events = True
    event_fields = ("ingestion_time", "log_group", "log_stream")
    log_group_name: str | Sequence[str] = option(
        "Name of the log group, or a list; `*` matches any text, `?` one character.", check=_check_groups
    )
    log_stream_names: Sequence[str] = option(
        "Log streams to read, all if not given; `*` matches any text, `?` one character.",
        default=(),
        check=_check_streams,
    )
    filter_pattern: str | None = option("Filter pattern of CloudWatch; only events that match are read.", default=None)
    region: str | None = option("Region of the log group; that of the connection if not given.", default=None)
    overlap_days: int = option(
        "How many days are requested again, because events may come late.", default=2, check=check_overlap
    )
    connection: Aws = option("How to log in.", default=Aws())

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        """A range for each day of the window, or for each hour if the group is a busy one.

        Names do not depend on the streams or the pattern: after a change of these, the events that were
        not there before are collected, and none twice.
        """
        for group in self._groups():
            hours, size = _spans(group, window.end)
            arn = str(group.get("logGroupArn") or group["arn"].removesuffix(":*"))
            fields = {"tp_source_name": str(group["logGroupName"])}
            unavailable = _UNREADABLE if group.get("logGroupClass", _STANDARD) != _STANDARD else ""
            for day in window.days():
                for hour in range(0, 24, hours):
                    uri = f"{arn}/{day}" if hours == 24 else f"{arn}/{day}T{hour:02}"
                    yield Artifact(uri, size, day=day, kind="range", fields=fields, unavailable=unavailable, path=uri)

    def open(self, artifact: Artifact) -> Iterator[Event]:
        """The events of the range; a page at a time is held in memory."""
        span = _span(artifact)
        group = _group_of(artifact)
        arguments: dict[str, Any] = {"startTime": _milliseconds(span.start), "endTime": _milliseconds(span.end) - 1}
        if self.filter_pattern:
            arguments["filterPattern"] = self.filter_pattern
        wanted = [_pattern(name) for name in self.log_stream_names]
        prefixes = [re.split(r"[*?]", name)[0] for name in self.log_stream_names] or [""]
        if len(prefixes) > _PASSES:
            prefixes = [os.path.commonprefix(prefixes)]  # noqa: RUF071 - letters are meant
        for number, prefix in enumerate(prefixes):
            mine = wanted[number : number + 1] if len(prefixes) == len(wanted) else wanted
            before = wanted[:number]  # has been read in an earlier pass
            for page in self._pages(group, {**arguments, "logStreamNamePrefix": prefix} if prefix else arguments):
                yield from (_event(group, one) for one in page if _is_meant(one, arguments, mine, before))

    def _pages(self, group: str, arguments: Mapping[str, Any]) -> Iterator[Sequence[Mapping[str, Any]]]:
        """The answers, one after the other; an answer may be empty and still not be the last."""
        for answer in self._answers("read", group, "filter_log_events", logGroupName=group, **arguments):
            yield answer.get("events", ())

    def _groups(self) -> Iterator[Mapping[str, Any]]:
        """The groups of all names, each once; a name that means no group is an error."""
        names = [self.log_group_name] if isinstance(self.log_group_name, str) else self.log_group_name
        seen: set[str] = set()
        for name in names:
            count = 0
            for count, group in enumerate(self._named(name), 1):  # noqa: B007 - whether there is one
                if group["logGroupName"] not in seen:
                    seen.add(group["logGroupName"])
                    yield group
                if len(seen) > _MOST_GROUPS:
                    what = f'"log_group_name" of source "{self.name or self.type}"'
                    hint = "use narrower names, in several partitions"
                    raise UsageError(f"more than {_MOST_GROUPS:,} log groups match {what}", hint=hint)
            if not count:
                raise self._missing(name)

    def _named(self, name: str) -> Iterator[Mapping[str, Any]]:
        prefix, is_one, wanted = re.split(r"[*?]", name)[0], not set("*?") & set(name), _pattern(name)
        arguments = {"logGroupNamePrefix": prefix} if prefix else {}
        for answer in self._answers("find", name, "describe_log_groups", **arguments):
            for group in answer.get("logGroups", ()):
                if wanted.fullmatch(group["logGroupName"]):
                    yield group
                    if is_one:
                        return

    def _answers(self, verb: str, group: str, operation: str, **arguments: Any) -> Iterator[Mapping[str, Any]]:
        def fetch(token: str | None) -> Mapping[str, Any]:
            return self._request(verb, group, operation, **arguments, **({"nextToken": token} if token else {}))

        return pages_by_token(fetch, lambda answer: answer.get("nextToken"))

    def _request(self, verb: str, group: str, operation: str, **arguments: Any) -> Mapping[str, Any]:
        exceptions = imported("botocore.exceptions")
        connection = self.connection

        def call() -> Mapping[str, Any]:
            client = connection.client("logs", self.region)
            return cast("Mapping[str, Any]", getattr(client, operation)(**arguments))

        try:
            return request(call, connection.renew)
        except (exceptions.BotoCoreError, exceptions.ClientError) as error:
            if code_of(error) == _NOWHERE and "stream" in str(error):
                return {}  # no stream has such a name
            if code_of(error) == _NOWHERE:
                raise self._missing(group) from None
            raise explained(error, connection, f'{verb} log group "{group}"') from None

    def _missing(self, group: str) -> TailpipeError:
        region = self.region or self.connection.client("logs", self.region).meta.region_name
        return UsageError(
            f'there is no log group "{group}" in region {region}',
            hint=f'correct "log_group_name" or "region" of source "{self.name or self.type}"',
        )


def _event(group: str, event: Mapping[str, Any]) -> Event:
    stream, received = event.get("logStreamName"), event.get("ingestionTime")
    fields = {
        "log_group": group,
        "log_stream": stream,
        "ingestion_time": None if received is None else _moment(received),
    }
    return Event(event["eventId"], _moment(event["timestamp"]), event.get("message", ""), None, stream, fields)


def _group_of(artifact: Artifact) -> str:
    """The name of the group: what the ARN of the range ends with."""
    return artifact.uri.rpartition("/")[0].split(":", 6)[-1]


def _spans(group: Mapping[str, Any], now: datetime) -> tuple[int, int]:
    """Hours of a range, and its approximate bytes, estimated from the size and age of the group."""
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


def _moment(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _pattern(name: str) -> re.Pattern[str]:
    """A pattern for a name with wildcards; brackets are ordinary characters, because Lambda has them in all names."""
    return re.compile(re.escape(name).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def _is_meant(
    event: Mapping[str, Any],
    arguments: Mapping[str, Any],
    wanted: Sequence[re.Pattern[str]],
    before: Sequence[re.Pattern[str]],
) -> bool:
    """Whether the event is in the range and in a wanted stream: both are checked, whatever the server does."""
    stream = event.get("logStreamName", "")
    return (
        arguments["startTime"] <= event["timestamp"] <= arguments["endTime"]
        and (not wanted or any(one.fullmatch(stream) for one in wanted))
        and not any(one.fullmatch(stream) for one in before)
    )
