"""Failpoints are for tests alone."""

from __future__ import annotations

import errno

import pytest

from tailpipe.catalog.failpoints import NAMES, Failpoints
from tailpipe.errors import UsageError


def test_they_are_refused_outside_of_tests() -> None:
    with pytest.raises(UsageError, match="set outside of a test"):
        Failpoints.from_environment({"TAILPIPE_FAILPOINT": "commit.before=kill"})


@pytest.mark.parametrize("text", ["nowhere=kill", "commit.before", "commit.before=dance", "commit.before:x=kill"])
def test_a_wrong_name_or_action_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a failpoint"):
        Failpoints.from_environment({"TAILPIPE_FAILPOINT": text, "TAILPIPE_TEST": "1"})


def test_a_point_fires_once_after_its_skips() -> None:
    points = Failpoints.from_environment(
        {"TAILPIPE_FAILPOINT": "store.rename:1=enospc,store.synced=eio", "TAILPIPE_TEST": "1"}
    )
    points.reach("store.rename")
    with pytest.raises(OSError, match="No space") as caught:
        points.reach("store.rename")
    assert caught.value.errno == errno.ENOSPC
    points.reach("store.rename")
    with pytest.raises(OSError, match="Input/output error"):
        points.reach("store.synced")


def test_there_are_at_least_twenty_of_them() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 20


def test_none_is_armed_without_the_variable() -> None:
    points = Failpoints.from_environment({})
    for name in NAMES:
        points.reach(name)
