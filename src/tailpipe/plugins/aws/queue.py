"""A queue of Amazon SQS: receive messages, and delete those that are done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from tailpipe.plugin import Artifact, TailpipeError, UsageError
from tailpipe.plugins.aws.connection import Aws, imported
from tailpipe.plugins.aws.faults import code_of, explained, request

T = TypeVar("T")

_BATCH = 10
_WAIT_SECONDS = 1
"""So long a request waits for a message: then all servers of the queue are searched, not just some."""
_REGION = re.compile(r"sqs\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")
_NOWHERE = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist", "NonExistentQueue")


@dataclass
class Message:
    """A message that was received: its handle, and what has to be collected before it may be deleted."""

    id: str
    handle: str
    body: str
    artifacts: list[Artifact] = field(default_factory=list)
    is_left: bool = False
    """Whether it stays in the queue, because it is none of ours."""


class Inbox:
    """The messages of one run. Copies of a source share it; workers get an empty one, and all are equal."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.messages: dict[str, Message] = {}
        self.listed: Callable[[], None] = lambda: None
        """Notes that the bucket was listed."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inbox)

    def __hash__(self) -> int:
        return hash(Inbox)

    def __reduce__(self) -> tuple[type[Inbox], tuple[()]]:
        return Inbox, ()

    def __repr__(self) -> str:
        return "Inbox()"


class Queue:
    """A queue at its address."""

    def __init__(self, url: str, connection: Aws) -> None:
        self.url = url
        self.connection = connection
        match = _REGION.fullmatch(urlsplit(url).hostname or "")
        self._region = match[1] if match else None

    def receive(self, most: int, hidden_seconds: int) -> Iterator[Message]:
        """Messages, until there are no more; each is hidden from others for some time."""
        count = 0
        while count < most:
            answer = self._request(
                "receive from",
                lambda client: client.receive_message(
                    QueueUrl=self.url,
                    MaxNumberOfMessages=_BATCH,
                    WaitTimeSeconds=_WAIT_SECONDS,
                    VisibilityTimeout=hidden_seconds,
                ),
            )
            messages = answer.get("Messages", ())
            if not messages:
                return
            for one in messages:
                count += 1
                yield Message(str(one["MessageId"]), str(one["ReceiptHandle"]), str(one.get("Body", "")))

    def delete(self, messages: Sequence[Message]) -> None:
        """Delete messages; one that cannot be deleted comes again, which does no harm."""
        for entries in _batches(messages):
            answer = self._request("delete from", partial(self._delete, entries))
            if failed := answer.get("Failed"):
                code = failed[0].get("Code")
                raise TailpipeError(f'{len(failed)} messages of queue "{self.url}" were not deleted: {code}')

    def show(self, messages: Sequence[Message]) -> None:
        """Hide messages no longer; one that fails shows itself when its time is over."""
        for entries in _batches(messages):
            self._request("change the visibility of messages in", partial(self._show, entries))

    def _delete(self, entries: list[dict[str, Any]], client: Any) -> dict[str, Any]:
        return cast("dict[str, Any]", client.delete_message_batch(QueueUrl=self.url, Entries=entries))

    def _show(self, entries: list[dict[str, Any]], client: Any) -> None:
        shown = [{**one, "VisibilityTimeout": 0} for one in entries]
        client.change_message_visibility_batch(QueueUrl=self.url, Entries=shown)

    def _request(self, verb: str, call: Callable[[Any], T]) -> T:
        exceptions = imported("botocore.exceptions")
        try:
            return request(lambda: call(self.connection.client("sqs", self._region)), self.connection.renew)
        except (exceptions.BotoCoreError, exceptions.ClientError) as error:
            if code_of(error) in _NOWHERE:
                raise UsageError(f'there is no queue "{self.url}"', hint='correct "queue_url"') from None
            raise explained(error, self.connection, f'{verb} queue "{self.url}"') from None


def _batches(messages: Sequence[Message]) -> Iterator[list[dict[str, Any]]]:
    """The handles of messages, as many at a time as a request takes."""
    for start in range(0, len(messages), _BATCH):
        some = messages[start : start + _BATCH]
        yield [{"Id": str(number), "ReceiptHandle": one.handle} for number, one in enumerate(some)]
