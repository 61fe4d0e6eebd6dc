"""Artifacts and the accounts of their rows."""

from __future__ import annotations

import dataclasses
import pickle
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.model.artifact import Accounts, Artifact

WAYS = ("kept", "filtered", "rejected", "out_of_window", "duplicate")
BALANCED = st.tuples(*[st.integers(0, 10**9)] * 5).map(lambda ways: Accounts(sum(ways), *ways))


def test_empty_accounts_balance() -> None:
    assert Accounts().is_balanced


@pytest.mark.parametrize("way", WAYS)
def test_a_row_may_go_each_way_and_must_go_one(way: str) -> None:
    assert Accounts(read=1, **{way: 1}).is_balanced
    assert not Accounts(read=1).is_balanced
    assert not Accounts(**{way: 1}).is_balanced
    assert not Accounts(read=1, **{way: 2}).is_balanced


def test_a_row_cannot_go_two_ways() -> None:
    assert not Accounts(read=1, kept=1, duplicate=1).is_balanced


@given(BALANCED, BALANCED)
def test_accounts_add_up_and_stay_balanced(first: Accounts, second: Accounts) -> None:
    total = first + second
    assert total.is_balanced
    for name in ("read", *WAYS):
        assert getattr(total, name) == getattr(first, name) + getattr(second, name)
    assert total == second + first
    assert first + Accounts() == first


@given(BALANCED, st.sampled_from(WAYS))
def test_one_row_missing_anywhere_is_seen_in_the_sum(accounts: Accounts, way: str) -> None:
    assert not (accounts + Accounts(**{way: 1})).is_balanced
    assert not (accounts + Accounts(read=1)).is_balanced


def test_addition_forgets_no_field() -> None:
    one = Accounts(**{field.name: 1 for field in dataclasses.fields(Accounts)})
    assert all(value == 2 for value in dataclasses.asdict(one + one).values())


def test_an_artifact_is_a_frozen_value_that_travels() -> None:
    artifact = Artifact("s3://b/k", 3, datetime(2024, 1, 1, tzinfo=UTC), "etag", date(2024, 1, 1), "object", {"a": "b"})
    assert pickle.loads(pickle.dumps(artifact)) == artifact
    with pytest.raises(dataclasses.FrozenInstanceError):
        artifact.uri = "other"  # type: ignore[misc]


def test_an_artifact_needs_only_a_uri_and_is_a_file_without_a_day() -> None:
    artifact = Artifact("/var/log/app.log")
    assert (artifact.kind, artifact.day, artifact.size, artifact.etag, artifact.modified) == ("file", *[None] * 4)
    assert artifact.fields == {}
    assert artifact.fields is not Artifact("/other").fields
