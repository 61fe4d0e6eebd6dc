"""Selectors: which partitions a command line means."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.errors import UsageError
from tailpipe.model.selector import Selector, select

KNOWN = [
    "nginx_access_log.prod",
    "aws_cloudtrail_log.prod",
    "aws_cloudtrail_log.preview",
    "aws_cloudtrail_log.dev",
    "aws_s3_log.prod",
    "aws_s3_log.eu-west-1",
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "aws_cloudtrail_log",
            ["aws_cloudtrail_log.prod", "aws_cloudtrail_log.preview", "aws_cloudtrail_log.dev"],
        ),
        ("aws_cloudtrail_log.prod", ["aws_cloudtrail_log.prod"]),
        ("aws_*", KNOWN[1:]),
        ("*.prod", ["nginx_access_log.prod", "aws_cloudtrail_log.prod", "aws_s3_log.prod"]),
        ("aws_cloudtrail_log.p*", ["aws_cloudtrail_log.prod", "aws_cloudtrail_log.preview"]),
        ("*", KNOWN),
        ("*.*", KNOWN),
        ("aws_*.p*", ["aws_cloudtrail_log.prod", "aws_cloudtrail_log.preview", "aws_s3_log.prod"]),
        ("aws_s?_log.eu-*-?", ["aws_s3_log.eu-west-1"]),
        ("  aws_s3_log.prod ", ["aws_s3_log.prod"]),
    ],
)
def test_every_form_means_the_partitions_it_matches(text: str, expected: list[str]) -> None:
    assert select([text], KNOWN) == expected


def test_without_a_selector_all_are_meant() -> None:
    assert select([], KNOWN) == KNOWN
    assert select([], []) == []


def test_the_order_is_that_of_the_config_and_nothing_comes_twice() -> None:
    chosen = select(["aws_s3_log", "*.prod", "nginx_access_log.prod", "nginx_access_log.prod"], KNOWN)
    assert chosen == [name for name in KNOWN if name.startswith(("aws_s3_log", "nginx")) or name.endswith(".prod")]


def test_selectors_and_names_may_come_one_by_one() -> None:
    assert select(iter(["*.dev"]), iter(KNOWN)) == ["aws_cloudtrail_log.dev"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("aws_cloudtrail_log.prd", 'did you mean "aws_cloudtrail_log.prod"?'),
        ("aws_cloudtral_log.dev", 'did you mean "aws_cloudtrail_log.dev"?'),
        ("aws_cloudtral_log", 'did you mean "aws_cloudtrail_log"?'),
        (" nginx_acces_log ", 'did you mean "nginx_access_log"?'),
    ],
)
def test_a_selector_that_means_nothing_is_refused_with_the_nearest_name(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        select([text], KNOWN)
    assert refused.value.message == f"partition not found: {text}"
    assert refused.value.hint == hint


def test_a_selector_far_from_all_names_is_answered_with_some_that_there_are() -> None:
    with pytest.raises(UsageError) as refused:
        select(["zzz"], KNOWN)
    assert refused.value.hint == "there are: " + ", ".join(KNOWN[:5]) + " …"
    with pytest.raises(UsageError) as refused:
        select(["zzz*"], KNOWN[:1])
    assert refused.value.hint == "there is: nginx_access_log.prod"
    with pytest.raises(UsageError) as refused:
        select(["zzz"], [])
    assert refused.value.hint == "the config has no partition yet"


def test_one_wrong_selector_among_right_ones_is_an_error() -> None:
    with pytest.raises(UsageError, match="partition not found: nope"):
        select(["aws_*", "nope"], KNOWN)


@pytest.mark.parametrize("text", ["aws_cloudtrail_log.PROD", "AWS_*", "cloudtrail", "aws_cloudtrail_log.pro", "prod"])
def test_a_name_matches_whole_and_in_its_own_case(text: str) -> None:
    with pytest.raises(UsageError, match="partition not found"):
        select([text], KNOWN)


@pytest.mark.parametrize(
    "text",
    ["", " ", ".", "a.", ".a", "a.b.c", "a b", "a/b", "../x", "a.[bc]", "{a,b}", "a\nb", "a.b;", 'a"b', "a.b\x1b[0m"],
)
def test_what_is_no_selector_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        select([text], KNOWN)
    assert refused.value.message == f'"{text}" is not a selector'
    assert refused.value.hint == "use table, table.partition, or wildcards such as aws_* or *.prod"


def test_a_selector_is_a_value_that_prints_itself() -> None:
    assert Selector.parse("aws_*") == Selector("aws_*") == Selector("aws_*", "*")
    assert str(Selector.parse("aws_*")) == "aws_*.*"
    assert Selector.parse(str(Selector("a", "b?"))) == Selector("a", "b?")
    assert Selector("a_*", "p?").matches("a_b", "p1")
    assert not Selector("a_*", "p?").matches("a_b", "p12")
    assert not Selector("a_*", "p?").matches("b_a_b", "p1")


@given(st.text())
def test_random_text_selects_something_or_is_a_usage_error(text: str) -> None:
    with suppress(UsageError):
        assert select([text], KNOWN)


@given(st.text("ab*?.", max_size=40))
def test_many_wildcards_are_matched_in_no_time(text: str) -> None:
    try:
        chosen = select([text], ["a" * 200 + "." + "b" * 200])
    except UsageError:
        return
    assert len(chosen) == 1
