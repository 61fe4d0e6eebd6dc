"""Saved queries: what a `.sql` file states, and which values a query takes."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.errors import UsageError
from tailpipe.model.parameter import Parameter
from tailpipe.model.saved import SavedQuery, read_saved

NOW = datetime(2024, 1, 31, 12, tzinfo=UTC)
FILE = """-- Copyright of somebody
-- title: Failed logins: by user

-- description: Users with failed logins,
-- description: and how often.
-- Tags: security, login
-- param: who varchar = 'it''s : "me"' : Only this user; a text : with colons.
-- param: days integer = 7 : Look back.
-- param: price decimal(5, 2)
-- param: since date = T-7d
-- note: no key of ours

SELECT '$none', $who, $days, $price, $since -- $none
FROM app_log
"""


def test_a_file_states_a_query() -> None:
    query, flaws = read_saved("failed", FILE)
    assert flaws == []
    assert (query.name, query.title) == ("failed", "Failed logins: by user")
    assert query.description == "Users with failed logins, and how often."
    assert query.tags == ("security", "login")
    assert query.text == "SELECT '$none', $who, $days, $price, $since -- $none\nFROM app_log"
    assert FILE.split("\n")[query.line].startswith("SELECT")
    assert query.params == (
        Parameter(name="who", default='it\'s : "me"', description="Only this user; a text : with colons."),
        Parameter(name="days", type="integer", default="7", description="Look back."),
        Parameter(name="price", type="decimal(5, 2)"),
        Parameter(name="since", type="date", default="T-7d"),
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_ends_of_lines_do_not_matter(end: str) -> None:
    query, flaws = read_saved("failed", FILE.replace("\n", end))
    assert flaws == []
    assert query.params == read_saved("failed", FILE)[0].params


def test_a_file_without_front_matter_is_a_query() -> None:
    query, flaws = read_saved("plain", "SELECT 1\n-- title: too late\n")
    assert (query.title, query.line, flaws) == (None, 0, [])


@given(st.text(alphabet=st.sampled_from("-: paramtitle=$'\"\n\r\tx1()*/;")))
def test_any_text_is_read_and_a_flaw_has_a_place_in_it(text: str) -> None:
    _, flaws = read_saved("any", text)
    for flaw in flaws:
        assert 0 <= flaw.span[0] <= max(1, len(text))
        assert flaw.span[0] <= flaw.span[1]


QUERY = SavedQuery(
    name="failed",
    sql="SELECT $who, $days, $since",
    params=[
        Parameter(name="who", description="The user."),
        Parameter(name="days", type="integer", default=7),
        Parameter(name="since", type="date", default="T-1d"),
    ],
)


def test_values_are_those_given_or_the_defaults_in_their_types() -> None:
    values = QUERY.values({"WHO": "it's", "days": "3"}, now=NOW)
    assert values == {"who": "it's", "days": 3, "since": date(2024, 1, 30)}


@pytest.mark.parametrize(
    ("given_values", "message", "hint"),
    [
        ({}, 'the parameter "who" of "failed" has no value', "--param who=VALUE (The user.)"),
        ({"whoo": "a"}, 'the query "failed" has no parameter "whoo"', 'did you mean "who"?'),
        ({"zzz": "a"}, 'the query "failed" has no parameter "zzz"', "there are: who, days, since"),
        ({"who": "a", "days": "x"}, 'the parameter "days" must be integer, not "x"', "integer"),
        ({"who": 7}, 'the parameter "who" must be varchar, not 7', ""),
    ],
)
def test_a_wrong_value_is_refused(given_values: dict[str, object], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        QUERY.values(given_values, now=NOW)
    assert caught.value.message == message
    assert hint in caught.value.hint
