"""The nearest name, for whoever misspelt one."""

from __future__ import annotations

import pytest

from tailpipe.model.nearest import did_you_mean, nearest


@pytest.mark.parametrize(
    ("word", "near"),
    [("buckett", "bucket"), ("Bucket", "bucket"), ("BUCKET", "bucket"), ("prefx", "prefix"), ("zzz", None), ("", None)],
)
def test_the_nearest_name_is_found_whatever_the_case(word: str, near: str | None) -> None:
    assert nearest(word, ["bucket", "prefix", "region"]) == near


def test_the_hint_falls_back_when_nothing_is_near() -> None:
    assert did_you_mean("bukcet", ["bucket"], "otherwise") == 'did you mean "bucket"?'
    assert did_you_mean("zzz", ["bucket"], "otherwise") == "otherwise"
    assert did_you_mean("zzz", []) == ""
    assert did_you_mean("a" * 1_000_000, ["bucket"]) == ""


@pytest.mark.parametrize(("word", "near"), [("role", "role_arn"), ("ROLE", "role_arn"), ("profil", "profile")])
def test_the_hint_prefers_a_name_that_begins_with_the_word(word: str, near: str) -> None:
    assert did_you_mean(word, ["profile", "role_arn_of_others", "role_arn"]) == f'did you mean "{near}"?'
