"""Pages of an API: every way from one to the next gives each event once, and no service pagination loop."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tailpipe.errors import ConfigError
from tests.http.server import Asked, Events, Reply, Server, zipped
from tests.http.world import SOURCE, FakeTime, actors, config, world

DAY = ("2024-03-09", "2024-03-09")
NAMES = ("ada", "bob", "cy", "dan", "eve")

STYLES = {
    "link": 'pagination "link_header" {}',
    "next_url": 'records = "value"\n pagination "next_url" { path = "@odata.nextLink" }',
    "cursor": 'records = "data.items"\n pagination "cursor" { path = "cursor" param = "after" has_more = "has_more" }',
    "page": 'records = ["list", "items"]\n pagination "page" { param = "page" }',
    "offset": 'records = "items"\n pagination "offset" { param = "offset" }',
}


@pytest.fixture
def api(server: Server) -> Events:
    made = Events(server)
    made.say("2024-03-09", *NAMES)
    return made


@pytest.mark.parametrize("style", STYLES)
def test_every_style_of_pages_gives_every_event_once(api: Events, tmp_path: Path, style: str, clock: FakeTime) -> None:
    api.style = style
    made = world(tmp_path, config(api.server.url, SOURCE + STYLES[style]))
    summary = made.collect(*DAY)
    assert summary.is_done, summary
    assert actors(made) == sorted(NAMES)
    ids = made.rows("tp_id", "audit.x")
    assert len(set(ids)) == 5
    assert clock.slept == []


def test_a_body_takes_the_token_and_times_of_a_post(api: Events, tmp_path: Path) -> None:
    api.style = "cursor"
    source = """
    path       = "/logs"
    method     = "POST"
    body       = { since = "{from}", until = "{to}", limit = 2, deep = { list = ["{from}", true, null] } }
    records    = "data.items"
    key        = "id"
    pagination "cursor" {
      path = "cursor"
      body = "after"
    }
"""
    made = world(tmp_path, config(api.server.url, source))
    assert made.collect(*DAY).is_done
    assert actors(made) == sorted(NAMES)
    first, second = api.server.asked[0].json, api.server.asked[1].json
    assert first["deep"] == {"list": ["2024-03-09T00:00:00Z", True, None]}
    assert second == {**first, "after": "2"}


def test_a_cursor_may_travel_alone(api: Events, tmp_path: Path) -> None:
    api.style = "cursor"
    source = SOURCE.replace("params", 'method = "POST"\n body') + (
        'records = "data.items"\n pagination "cursor" { path = "cursor" body = "after" alone = true }'
    )
    made = world(tmp_path, config(api.server.url, source))
    assert made.collect(*DAY).is_done
    assert [sorted(one.json) for one in api.server.asked] == [["since", "until"], ["after"], ["after"]]


class Nested:
    """A search API: the token is an object of the answer, and goes back nested into the body."""

    def __init__(self, server: Server, token: Callable[[int], object]) -> None:
        self.token = token
        server.answer = self.answer

    def answer(self, asked: Asked) -> Reply:
        after = (asked.json.get("page") or {}).get("after")
        number = next((one for one in range(3) if one and self.token(one) == after), 0)
        events = [{"id": f"{number}", "time": "2024-03-09T10:00:00Z", "actor": NAMES[number]}]
        return Reply({"data": events, "meta": {"page": {"after": self.token(number + 1) if number < 2 else None}}})


@pytest.mark.parametrize("token", [str, int, lambda one: [one, "x"], lambda one: {"é": one}])
@pytest.mark.parametrize("body", ["page = { limit = 1 }", "filter = { page = 5 }", "page = null"])
def test_a_dotted_path_nests_the_token_in_the_body(
    server: Server, tmp_path: Path, body: str, token: Callable[[int], object]
) -> None:
    Nested(server, token)
    source = f"""
    path    = "/search"
    method  = "POST"
    body    = {{ since = "{{from}}", {body} }}
    records = "data"
    key     = "id"
    pagination "cursor" {{
      path = "meta.page.after"
      body = "page.after"
    }}
"""
    made = world(tmp_path, config(server.url, source))
    assert made.collect(*DAY).is_done
    assert actors(made) == ["ada", "bob", "cy"]
    first, second, third = (one.json for one in server.asked)
    assert (second["page"].pop("after"), third["page"].pop("after")) == (token(1), token(2))
    assert second == third == {**first, "page": first.get("page") or {}}


def test_a_dot_is_literal_where_the_body_has_the_key(api: Events, tmp_path: Path) -> None:
    api.style = "cursor"
    source = SOURCE.replace("params", 'method = "POST"\n body').replace('"{to}"', '"{to}", "page.after" = null')
    made = world(
        tmp_path,
        config(
            api.server.url, source + 'records = "data.items"\n pagination "cursor" {path="cursor" body="page.after"}'
        ),
    )
    summary = made.collect(*DAY)
    assert not summary.is_done  # this API knows the token by another name
    assert [one.json["page.after"] for one in api.server.asked] == [None, "2"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('method = "POST"\n body = { since = "{from}", page = 5 }', '"after" has no place in 5'),
        ('method = "POST"\n body = { since = "{from}", page = [1] }', '"after" has no place in a list'),
        ('params = { since = "{from}" }', "which only a POST has"),
    ],
)
def test_a_body_without_a_place_for_the_token_is_refused(
    server: Server, tmp_path: Path, source: str, message: str
) -> None:
    pages = '\n records = "x"\n pagination "cursor" { path = "next" body = "page.after" }'
    with pytest.raises(ConfigError, match=message):
        world(tmp_path, config(server.url, source + pages)).collect(*DAY)


def test_a_header_that_differs_in_case_replaces_the_usual_one(api: Events, tmp_path: Path) -> None:
    api.style = "cursor"
    source = SOURCE.replace("params", 'method = "POST"\n body') + (
        'records = "data.items"\n headers = { "content-type" = "application/vnd.x+json", "accept" = "text/plain" }'
    )
    seen: list[list[tuple[str, str]]] = []
    api.server.watch = seen.append
    assert world(tmp_path, config(api.server.url, source)).collect(*DAY).is_done
    [headers] = seen
    found = [(name.lower(), value) for name, value in headers if name.lower() in ("content-type", "accept")]
    assert sorted(found) == [("accept", "text/plain"), ("content-type", "application/vnd.x+json")]


def test_a_page_that_is_not_full_is_the_last_where_config_says_so(api: Events, tmp_path: Path) -> None:
    api.style = "page"
    pages = 'records = "items"\n pagination "page" { size = 2 }\n'
    made = world(tmp_path, config(api.server.url, SOURCE + pages + ' stop_at = "short"'))
    assert made.collect(*DAY).is_done
    assert api.server.params("page") == ["1", "2", "3"]
    assert actors(made) == sorted(NAMES)


def test_an_empty_page_with_a_token_is_not_the_last(server: Server, tmp_path: Path) -> None:
    pages = [{"items": [], "next": "a"}, {"items": [{"id": 1, "time": "2024-03-09T01:00:00Z", "actor": "ada"}]}]
    server.answer = lambda asked: Reply(pages[1 if "token" in asked.params else 0])
    source = SOURCE + 'records = "items"\n pagination "cursor" { path = "next" param = "token" }'
    made = world(tmp_path, config(server.url, source))
    assert made.collect(*DAY).is_done
    assert actors(made) == ["ada"]


def test_an_empty_page_is_the_last_where_config_says_so(server: Server, tmp_path: Path) -> None:
    count = 0

    def answer(asked: Asked) -> Reply:
        nonlocal count
        count += 1
        return Reply([], headers=(("Link", f'<{server.url}/logs?n={count}>; rel="next"'),))

    server.answer = answer
    source = SOURCE + 'pagination "link_header" {}\n stop_at = "empty"'
    made = world(tmp_path, config(server.url, source))
    assert made.collect(*DAY).is_done
    assert count == 1


LOOPS: dict[str, tuple[Callable[[str], Reply], str]] = {
    "link": (lambda url: Reply([{"id": "1"}], headers=(("Link", f'<{url}/logs?n=1>; rel="next"'),)), "link"),
    "cursor": (lambda url: Reply({"data": {"items": [{"id": "1"}]}, "cursor": "same", "has_more": True}), "cursor"),
    "page": (lambda url: Reply({"items": [{"id": "1"}]}), "page"),
    "offset": (lambda url: Reply({"items": [{"id": "1"}]}), "offset"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_service_that_leads_in_a_circle_fails_the_day(server: Server, tmp_path: Path, name: str) -> None:
    make, style = LOOPS[name]
    server.answer = lambda _: make(server.url)
    made = world(tmp_path, config(server.url, SOURCE + STYLES[style]))
    summary = made.collect(*DAY)
    assert not summary.is_done
    assert "pagination loop" in str(summary) or "is equal to the page before" in str(summary)
    assert made.rows("id", "audit.x") == []
    assert len(server.asked) <= 3


@pytest.mark.parametrize("link", ["http://localhost:PORT/logs", "https://127.0.0.1:PORT/logs", "http://127.0.0.1:1/x"])
def test_a_next_page_on_another_server_is_never_requested(server: Server, tmp_path: Path, link: str) -> None:
    port = server.url.rpartition(":")[2]
    server.answer = lambda _: Reply([], headers=(("Link", f'<{link.replace("PORT", port)}>; rel="next"'),))
    login = 'auth "bearer" { token = "t0ken-of-the-test" }'
    made = world(tmp_path, config(server.url, SOURCE + 'pagination "link_header" {}', login))
    summary = made.collect(*DAY)
    assert "the next page is on another server" in str(summary)
    assert len(server.asked) == 1


def test_a_relative_link_stays_on_the_server(api: Events, tmp_path: Path) -> None:
    api.server.answer = lambda asked: Reply(
        [{"id": asked.target, "time": "2024-03-09T01:00:00Z", "actor": "ada"}],
        headers=() if "n" in asked.params else (("Link", '</logs?n=1>; rel="next"'),),
    )
    made = world(tmp_path, config(api.server.url, SOURCE + 'pagination "link_header" {}'))
    assert made.collect(*DAY).is_done
    assert actors(made) == ["ada", "ada"]


# Bodies

LINES = b"".join(
    json.dumps({"id": n, "time": "2024-03-09T01:00:00Z", "actor": f"a{n}"}).encode() + b"\n" for n in range(3)
)
BODIES = {
    "gzip": zipped(Reply(json.loads("[" + LINES.decode().replace("}\n{", "},{").strip() + "]"))),
    "lines": Reply(LINES),
    "lines by type": Reply(LINES.replace(b"\n", b"\r\n"), headers=(("Content-Type", "application/x-ndjson"),)),
    "lines in gzip": zipped(Reply(LINES)),
    "a file in gzip": Reply(
        gzip.compress(LINES[:60]) + gzip.compress(LINES[60:]), headers=(("Content-Type", "application/gzip"),)
    ),
    "a mark of its encoding": Reply(b"\xef\xbb\xbf" + LINES),
    "slow": Reply(LINES, pause=0.2),
    "without length": Reply(LINES, has_length=False),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_of_every_kind_are_read(server: Server, tmp_path: Path, name: str) -> None:
    server.answer = lambda _: BODIES[name]
    made = world(tmp_path, config(server.url))
    assert made.collect(*DAY).is_done
    assert actors(made) == ["a0", "a1", "a2"]
    assert "gzip" in server.asked[0].headers["accept-encoding"]


WRONG = {
    "html": (
        Reply(b"<html>please log in</html>"),
        "the response is not JSON (application/json, Expecting value): <html>please",
    ),
    "another list": (Reply({"events": [{"id": 1}]}), 'the response has no list "items"; it has: events'),
    "an error as a success": (Reply({"ok": False, "error": "not_allowed"}), 'returned an error: "not_allowed"'),
    "a number": (Reply(7), "the response is not a list of records"),
    "another encoding": (Reply(b"x", headers=(("Content-Encoding", "br"),)), 'the response is encoded as "br"'),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_body_that_is_something_else_fails_the_day(server: Server, tmp_path: Path, name: str) -> None:
    reply, message = WRONG[name]
    server.answer = lambda _: reply
    made = world(tmp_path, config(server.url, SOURCE + 'records = "items"'))
    summary = made.collect(*DAY)
    assert message in str(summary)
    assert f"{server.url}/logs: " in str(summary) or f"{server.url}/logs returned" in str(summary) or "br" in message
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "reply", [Reply({}), Reply({"kind": "x", "etag": "y"}), Reply(b""), Reply([]), Reply({"items": []})]
)
def test_an_answer_without_records_is_an_empty_page(server: Server, tmp_path: Path, reply: Reply) -> None:
    server.answer = lambda _: reply
    made = world(tmp_path, config(server.url, SOURCE + 'records = "items"'))
    assert made.collect(*DAY).is_done
    assert made.rows("id", "audit.x") == []
