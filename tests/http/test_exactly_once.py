"""Every event is one row: late, repeated, at the edge of a day, from two sources, after a kill."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from tailpipe.cli.again import Typed
from tailpipe.cli.report import print_report
from tailpipe.cli.report_records import summary_record
from tailpipe.collect.events import Report
from tailpipe.model.coverage import NO_DAYS
from tests.http.server import Asked, Events, Reply, Server
from tests.http.world import SOURCE, TABLE, FakeTime, actors, config, world
from tests.unit.collect.support import World

LINKS = SOURCE + 'pagination "link_header" {}\n'
ROOT = Path(__file__).parents[2]


@pytest.fixture
def api(server: Server) -> Events:
    return Events(server)


def is_exact(made: World, *names: str) -> None:
    """Each of these is one row, and no id is duplicated."""
    assert actors(made) == sorted(names)
    ids = made.rows("tp_id", "audit.x")
    assert len(set(ids)) == len(ids)


def test_a_second_run_requests_the_overlap_again_and_adds_nothing(api: Events, tmp_path: Path) -> None:
    api.say("2024-03-05", "old")
    api.say("2024-03-09", "ada", "bob", "cy")
    made = world(tmp_path, config(api.server.url, LINKS))
    assert made.collect("2024-03-01").accounts.kept == 4
    api.server.asked.clear()
    again = made.collect()
    assert (again.accounts.kept, again.accounts.duplicate) == (0, 3)
    assert set(api.server.params("since")) == {f"2024-03-{day}T00:00:00Z" for day in ("08", "09", "10")}
    is_exact(made, "old", "ada", "bob", "cy")


def test_complete_days_of_a_window_are_requested_again_by_the_command_in_the_report_only(
    api: Events, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = world(tmp_path, config(api.server.url, LINKS))
    made.collect("T-8d")
    api.server.asked.clear()
    summary = made.collect("T-6d")
    assert days_of(api) == ["2024-03-08", "2024-03-09", "2024-03-10"]
    assert summary.skipped == {"complete when last requested: use --overwrite": 4}
    assert summary_record(summary)["complete_days"] == "2024-03-04..2024-03-07"
    print_report(Report((summary,)), "pretty", typed=Typed(start="T-6d"))
    assert (
        "  not requested again, because they were complete: 2024-03-04..2024-03-07;"
        " to request them: tailpipe collect audit.x --from 2024-03-04 --to 2024-03-07 --overwrite"
    ) in capsys.readouterr().out.splitlines()
    api.say("2024-03-05", "late")
    api.server.asked.clear()
    assert made.collect("2024-03-04", "2024-03-07", overwrite=True).is_done
    assert days_of(api) == ["2024-03-04", "2024-03-05", "2024-03-06", "2024-03-07"]
    assert "late" in actors(made)
    assert made.collect().complete_days == NO_DAYS  # a plain run was asked for none of them


def days_of(api: Events) -> list[str]:
    """The days that were requested."""
    return sorted({one[:10] for one in api.server.params("since")})


def test_an_event_that_comes_three_days_late_is_found_with_an_overlap_of_three(api: Events, tmp_path: Path) -> None:
    api.say("2024-03-09", "ada")
    made = world(tmp_path, config(api.server.url, LINKS + "overlap_days = 3"))
    made.collect("2024-03-05")
    for days, late in ((1, "one"), (2, "two"), (3, "three")):
        made.now += timedelta(days=1)
        api.say("2024-03-09", late)
        assert made.collect().accounts.kept == 1, days
    is_exact(made, "ada", "one", "two", "three")


def test_the_same_event_on_two_pages_is_one_row(api: Events, tmp_path: Path) -> None:
    api.say("2024-03-09", "ada", "bob", "bob", "cy", "ada")
    made = world(tmp_path, config(api.server.url, LINKS))
    summary = made.collect("2024-03-09", "2024-03-09")
    assert (summary.accounts.kept, summary.accounts.duplicate) == (3, 2)
    is_exact(made, "ada", "bob", "cy")


def test_a_server_that_includes_the_end_gives_no_event_twice(api: Events, tmp_path: Path) -> None:
    api.includes_end = True
    for day in ("07", "08", "09"):
        api.say(f"2024-03-{day}", f"midnight-{day}", at="00:00:00")
    made = world(tmp_path, config(api.server.url, LINKS + 'window { step = "12h" }'))
    summary = made.collect("2024-03-06", "2024-03-09")
    assert summary.accounts.duplicate == 3
    is_exact(made, "midnight-07", "midnight-08", "midnight-09")
    ends = sorted({(one.params["since"], one.params["until"]) for one in api.server.asked})
    assert ends[:2] == [
        ("2024-03-06T00:00:00Z", "2024-03-06T12:00:00Z"),
        ("2024-03-06T12:00:00Z", "2024-03-07T00:00:00Z"),
    ]


def test_two_sources_that_give_the_same_event_make_one_row(api: Events, tmp_path: Path) -> None:
    api.say("2024-03-09", "ada", "bob")
    second = LINKS.replace('"/logs"', '"/copy"')
    text = config(api.server.url, LINKS)
    text = text[: text.rindex("}")] + f'  source "http" "copy" {{\n connection = connection.http.api\n{second}\n }}\n}}'
    made = world(tmp_path, text)
    assert made.collect("2024-03-08", "2024-03-09").accounts.kept == 2
    is_exact(made, "ada", "bob")
    assert set(api.server.paths) == {"/logs", "/copy"}


def test_two_sources_with_the_same_address_are_refused(api: Events, tmp_path: Path) -> None:
    text = config(api.server.url, LINKS)
    text = text[: text.rindex("}")] + f'  source "http" "copy" {{\n connection = connection.http.api\n{LINKS}\n }}\n}}'
    assert "both read" in str(world(tmp_path, text).collect("2024-03-09", "2024-03-09"))


def test_a_key_of_several_parts_tells_events_apart(server: Server, tmp_path: Path) -> None:
    pairs = [("a/b", "c"), ("a", "b/c"), ("a", "b"), ("a", "b")]
    rows = [{"id": a, "n": b, "time": "2024-03-09T01:00:00Z", "actor": f"{a}|{b}"} for a, b in pairs]
    server.answer = lambda _: Reply(rows)
    made = world(tmp_path, config(server.url, SOURCE.replace('["id"]', '["id", "n"]')))
    made.collect("2024-03-09", "2024-03-09")
    is_exact(made, "a/b|c", "a|b/c", "a|b")


def test_without_a_key_an_event_is_known_by_all_of_it(server: Server, tmp_path: Path) -> None:
    one = {"id": "x", "time": "2024-03-09T01:00:00Z", "actor": "ada"}
    same = dict(reversed(one.items()))
    server.answer = lambda _: Reply([one, same, {**one, "actor": "bob"}])
    made = world(tmp_path, config(server.url, SOURCE.replace('key    = ["id"]', "")))
    made.collect("2024-03-09", "2024-03-09")
    is_exact(made, "ada", "bob")


def test_an_event_without_its_key_is_kept_as_rejected(server: Server, tmp_path: Path) -> None:
    server.answer = lambda _: Reply([{"time": "2024-03-09T01:00:00Z", "actor": "ada"}])
    made = world(tmp_path, config(server.url))
    assert made.collect("2024-03-09", "2024-03-09").accounts.rejected == 1


def test_a_kill_between_two_pages_loses_nothing_and_doubles_nothing(api: Events, tmp_path: Path) -> None:
    api.say("2024-03-08", "old")
    api.say("2024-03-09", "ada", "bob", "cy", "dan", "eve")
    answer, reached, killed = api.answer, threading.Event(), threading.Event()

    def hang(asked: Asked) -> Reply:
        if asked.params.get("after") == "4" and not killed.is_set():
            reached.set()
            killed.wait(60)
        return answer(asked)

    api.server.answer = hang
    text = tmp_path / "main.tpc"
    text.write_text(config(api.server.url, LINKS))
    call = [sys.executable, "-m", "tests.http.collector", str(tmp_path), str(text), "2024-03-07"]
    running = subprocess.Popen(call, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        assert reached.wait(60)
        running.send_signal(signal.SIGKILL)
        running.wait(60)
    finally:
        running.kill()
        killed.set()
    made = world(tmp_path, text.read_text())
    assert set(actors(made)) <= {"old"}
    assert made.collect("2024-03-07", "2024-03-10").is_done
    is_exact(made, "old", "ada", "bob", "cy", "dan", "eve")


def test_a_day_that_fails_on_its_last_page_leaves_no_row(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    api.say("2024-03-08", "old")
    api.say("2024-03-09", "ada", "bob", "cy")
    answer = api.answer
    api.server.answer = lambda asked: Reply(b"?", 500) if asked.params.get("after") else answer(asked)
    made = world(tmp_path, config(api.server.url, LINKS))
    assert not made.collect("2024-03-07", "2024-03-10").is_done
    is_exact(made, "old")
    api.server.answer = answer
    assert made.collect().is_done
    is_exact(made, "old", "ada", "bob", "cy")


def test_each_value_is_a_range_of_its_own(server: Server, tmp_path: Path) -> None:
    def answer(asked: Asked) -> Reply:
        name = f"{asked.path.rpartition('/')[2]}-{asked.params['kind']}"
        return Reply([{"id": name, "time": "2024-03-09T01:00:00Z", "actor": name}])

    server.answer = answer
    source = """
    path   = "/logs/{org}"
    params = { since = "{from}", until = "{to}", kind = "{kind}" }
    each   = { org = ["a b", "c"], kind = ["web", "git"] }
    key    = "id"
"""
    made = world(tmp_path, config(server.url, source))
    made.collect("2024-03-09", "2024-03-09")
    is_exact(made, "a b-web", "a b-git", "c-web", "c-git")
    with made.catalog() as catalog:
        uris = sorted(str(entry.uri) for entry in catalog.state("audit.x").ledger)
    assert uris[0] == f"{server.url}/logs/a%20b?kind=git#2024-03-09"
    assert len(uris) == 4


def test_newest_first_without_a_window_stops_at_the_beginning(server: Server, tmp_path: Path) -> None:
    rows = [{"id": f"{d:02}", "time": f"2024-03-{d:02}T01:00:00Z", "actor": f"a{d:02}"} for d in range(10, 0, -1)]

    def answer(asked: Asked) -> Reply:
        place = int(asked.params.get("after", 0))
        return Reply({"items": rows[place : place + 2], "next": str(place + 2) if place < 8 else ""})

    server.answer = answer
    source = """
    path    = "/logs"
    records = "items"
    key     = "id"
    time    = "time"
    stop_at = "window"
    pagination "cursor" {
      path  = "next"
      param = "after"
    }
"""
    made = world(tmp_path, config(server.url, source))
    made.collect("2024-03-09", "2024-03-09")
    is_exact(made, "a09")
    assert len(server.asked) == 2


def test_events_may_be_behind_addresses_in_the_records(server: Server, tmp_path: Path) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.path == "/logs":
            return Reply([{"contentUri": f"{server.url}/blob/{n}"} for n in "ab"])
        name = asked.path.rpartition("/")[2]
        return Reply([{"id": name + n, "time": "2024-03-09T01:00:00Z", "actor": name + n} for n in "12"])

    server.answer = answer
    made = world(tmp_path, config(server.url, SOURCE + 'follow = "contentUri"'))
    assert made.collect("2024-03-09", "2024-03-09").is_done
    is_exact(made, "a1", "a2", "b1", "b2")
    server.answer = lambda _: Reply([{"contentUri": "http://127.0.0.1:1/x"}])
    assert "is not an address on the same server" in str(made.collect("2024-03-08", "2024-03-08"))


TIMES = {
    "rfc3339": ("2024-03-09T00:00:00Z", "2024-03-10T00:00:00Z"),
    "rfc3339_ms": ("2024-03-09T00:00:00.000Z", "2024-03-10T00:00:00.000Z"),
    "epoch": ("1709942400", "1710028800"),
    "epoch_ms": ("1709942400000", "1710028800000"),
    "%d/%m/%Y %H:%M": ("09/03/2024 00:00", "10/03/2024 00:00"),
}


@pytest.mark.parametrize("form", TIMES)
def test_times_are_written_as_the_service_wants_them(server: Server, tmp_path: Path, form: str) -> None:
    made = world(tmp_path, config(server.url, SOURCE + f'window {{ format = "{form}" }}'))
    made.collect("2024-03-09", "2024-03-09")
    assert (server.params("since"), server.params("until")) == ([TIMES[form][0]], [TIMES[form][1]])


def test_a_number_in_a_body_is_a_number(server: Server, tmp_path: Path) -> None:
    source = 'path = "/l"\n method = "POST"\n body = { a = "{from}", b = "x {to}" }\n window { format = "epoch" }'
    world(tmp_path, config(server.url, source)).collect("2024-03-09", "2024-03-09")
    assert server.asked[0].json == {"a": 1709942400, "b": "x 1710028800"}


def test_records_keep_their_values(server: Server, tmp_path: Path) -> None:
    table = TABLE.replace(
        'column "actor"', 'column "big" { type = "bigint" }\n column "deep" { type = "json" }\n column "actor"'
    )
    row = {
        "id": "é\ud83d\ude00",
        "time": 1709942400123,
        "actor": "a\nb",
        "big": 9007199254740993,
        "deep": {"x": [1, None]},
    }
    server.answer = lambda _: Reply([row])
    table = table.replace('source = "time"', 'source = "_event_time"')
    made = world(tmp_path, config(server.url, table=table))
    made.collect("2024-03-09", "2024-03-09")
    columns = "id, actor, big, deep::VARCHAR, tp_timestamp::VARCHAR, tp_source_name, tp_source_location"
    assert made.rows(columns, "audit.x") == [
        ("é😀", "a\nb", 9007199254740993, '{"x":[1,null]}', "2024-03-09 00:00:00.123", "api", f"{server.url}/logs")
    ]


def test_the_source_survives_pickling_with_its_secrets(server: Server, tmp_path: Path) -> None:
    import pickle

    text = config(server.url, LINKS, 'auth "bearer" { token = "s3cret-of-mine" }')
    [source] = world(tmp_path, text).config.partitions["audit.x"].sources
    assert pickle.loads(pickle.dumps(source)) == source
    assert source.connection.holds_secrets  # type: ignore[attr-defined]
    assert "s3cret" not in repr(source)
    assert dataclasses.is_dataclass(source)
