"""Messages about new objects: S3 event notifications, also by SNS and EventBridge, and those of CloudTrail."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote_plus

from tailpipe.plugin import UsageError

Place = tuple[str, str]
"""Bucket and key."""

_DEPTH = 3
"""SNS puts a message into another one."""
_ARRIVED = ("Object Created", "Object Restore Completed")


def named_objects(body: str) -> list[Place]:
    """The objects that a message says are new; none for a test, or for objects that were deleted.

    Raises `UsageError` for a message that is none about objects.
    """
    found: Any = body
    for _ in range(_DEPTH):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            raise UsageError("is not JSON") from None
        if not isinstance(found, dict):
            raise UsageError("is no JSON object")
        if isinstance(found.get("Message"), str) and ("TopicArn" in found or found.get("Type") == "Notification"):
            found = found["Message"]
            continue
        return list(_places(found))
    raise UsageError("has too many messages in one another")


def _places(event: Mapping[str, Any]) -> Iterator[Place]:
    if event.get("Event") == "s3:TestEvent":
        return
    if isinstance(event.get("Records"), list):
        for record in event["Records"]:
            if not isinstance(record, dict) or record.get("eventSource") not in ("aws:s3", "minio:s3"):
                raise UsageError("is no event of S3")
            if str(record.get("eventName", "")).removeprefix("s3:").startswith(("ObjectCreated:", "ObjectRestore:Com")):
                yield _place(record.get("s3"), is_quoted=True)
    elif event.get("source") == "aws.s3":
        if event.get("detail-type") in _ARRIVED:
            yield _place(event.get("detail"), is_quoted=False)
    elif isinstance(event.get("s3ObjectKey"), list) and isinstance(event.get("s3Bucket"), str):
        yield from ((event["s3Bucket"], key) for key in event["s3ObjectKey"] if isinstance(key, str) and key)
    else:
        raise UsageError("is no event of S3")


def _place(facts: Any, *, is_quoted: bool) -> Place:
    try:
        bucket, key = facts["bucket"]["name"], facts["object"]["key"]
    except (KeyError, TypeError):
        raise UsageError("names no bucket and key") from None
    if not isinstance(bucket, str) or not isinstance(key, str) or not bucket or not key:
        raise UsageError("names no bucket and key")
    return bucket, unquote_plus(key) if is_quoted else key
