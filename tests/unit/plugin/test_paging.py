"""Pages of an API, and services that never end."""

from __future__ import annotations

from collections.abc import Callable
from email.message import Message
from itertools import count
from typing import Any

import pytest

from tailpipe.errors import TailpipeError
from tailpipe.plugin import next_link, pages_by_number, pages_by_offset, pages_by_token, pages_by_url

CIRCLE = "pagination loop"


class Asked:
    """Answers, and notes what it was asked for."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer
        self.places: list[Any] = []

    def __call__(self, place: Any) -> Any:
        self.places.append(place)
        return self.answer(place)


def test_tokens_lead_to_the_end_also_over_empty_pages() -> None:
    answers = {None: ([1], "a"), "a": ([], 0), 0: ([2], {"after": 1}), "{'after': 1}": ([3], None)}
    pages = pages_by_token(lambda token: answers[str(token) if isinstance(token, dict) else token], lambda one: one[1])
    assert [items for items, _ in pages] == [[1], [], [2], [3]]


@pytest.mark.parametrize("nothing", [None, "", {}, []])
def test_an_empty_token_is_the_end(nothing: Any) -> None:
    assert list(pages_by_token(lambda _: "page", lambda _: nothing)) == ["page"]


@pytest.mark.parametrize("tokens", [["a", "a"], ["a", "b", "a"], [1, 2, 3, 2]])
def test_a_token_that_comes_again_is_an_error(tokens: list[Any]) -> None:
    following = iter(tokens)
    with pytest.raises(TailpipeError, match=CIRCLE):
        list(pages_by_token(lambda token: token, lambda _: next(following)))


def test_pages_without_an_end_are_an_error() -> None:
    numbers = count()
    for pages in (
        pages_by_token(lambda token: token, lambda _: str(next(numbers)), max_pages=50),
        pages_by_url(lambda url: url, "http://x/0", lambda _: f"/{next(numbers)}", max_pages=50),
        pages_by_number(lambda number: number, lambda _: [next(numbers)], max_pages=50),
        pages_by_offset(lambda offset: offset, lambda _: [next(numbers)], max_pages=50),
    ):
        with pytest.raises(TailpipeError, match="more than 50 pages"):
            list(pages)


def test_a_next_page_is_asked_for_only_when_somebody_wants_it() -> None:
    asked = Asked(lambda _: "page")
    next(pages_by_token(asked, lambda _: "more"))
    assert asked.places == [None]


def test_addresses_may_be_relative_and_stay_on_their_server() -> None:
    following = {"https://API.x/a?p=1": "?p=2", "https://API.x/a?p=2": "https://api.x:443/b", "https://api.x:443/b": ""}
    assert list(pages_by_url(lambda url: url, "https://API.x/a?p=1", lambda url: following[url])) == list(following)


@pytest.mark.parametrize("next_url", ["https://evil.x/a", "//evil.x/a", "http://api.x/a", "https://api.x:8443/a"])
def test_an_address_on_another_server_is_refused(next_url: str) -> None:
    asked = Asked(lambda url: url)
    with pytest.raises(TailpipeError, match="the next page is on another server"):
        list(pages_by_url(asked, "https://api.x/a", lambda _: next_url))
    assert asked.places == ["https://api.x/a"]


def test_an_address_that_comes_again_is_an_error() -> None:
    with pytest.raises(TailpipeError, match=CIRCLE):
        list(pages_by_url(lambda url: url, "https://api.x/a", lambda _: "https://api.x/a"))


def test_numbers_and_offsets_end_with_the_items() -> None:
    data = list(range(7))

    def by_number(number: int) -> list[int]:
        return data[(number - 1) * 3 : number * 3]

    assert list(pages_by_number(by_number, list)) == [[0, 1, 2], [3, 4, 5], [6]]
    asked = Asked(lambda offset: data[offset : offset + 3])
    assert [item for page in pages_by_offset(asked, list, size=3) for item in page] == data
    assert asked.places == [0, 3, 6]


def test_a_service_that_ignores_the_number_is_an_error() -> None:
    with pytest.raises(TailpipeError, match="page 2 is equal to the page before"):
        list(pages_by_number(lambda _: [1, 2], list))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('<https://x/2>; rel="next"', "https://x/2"),
        ("<https://x/2>;rel=next", "https://x/2"),
        ('<https://x/1>; rel="prev", <https://x/3?a=1,2&b=;>; title="a, b"; REL="last Next"', "https://x/3?a=1,2&b=;"),
        ('<https://x/1>; rel="self"', None),
        ('<https://x/1>; rel="nextish"', None),
        ("garbage", None),
        ("", None),
    ],
)
def test_the_link_header_names_the_next_page(value: str, expected: str | None) -> None:
    assert next_link([value]) == expected
    assert next_link({"LINK": value}) == expected


def test_several_link_headers_are_read_together() -> None:
    headers = Message()
    headers["Link"] = '<https://x/self>; rel="self"'
    headers["Link"] = '<https://x/2>; rel="next"'
    assert next_link(headers) == "https://x/2"
