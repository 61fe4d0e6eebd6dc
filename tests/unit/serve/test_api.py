"""What the explorer answers, over a real connection."""

from __future__ import annotations

import csv
import io
import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tailpipe.model.coverage import DaySet
from tailpipe.operations.doctor import rebuild
from tailpipe.operations.query import open_session
from tailpipe.serve.body import Body
from tailpipe.serve.histogram import histogram
from tailpipe.serve.limits import Limits
from tests.unit.detect.world import World
from tests.unit.serve.support import Client, serving

TABLE = {"table": "app_log", "q": "", "from": "2024-01-08", "to": "2024-01-11"}


def search(q: str = "", **more: Any) -> dict[str, Any]:
    return {**TABLE, "q": q, **more}


def test_meta_tells_tables_columns_and_limits(client: Client) -> None:
    found = client.get("meta")
    assert found["workspace"] == "default"
    assert found["read_only"] is False
    assert found["limits"]["rows"] == 10_000
    tables = {one["name"]: one for one in found["tables"]}
    assert tables.keys() == {"app_log", "detection_hit"}
    app = tables["app_log"]
    assert (app["rows"], app["first_event"], app["last_event"]) == (72, "2024-01-08T00:00:00Z", "2024-01-10T23:00:02Z")
    columns = {one["name"]: one for one in app["columns"]}
    assert columns["user"]["facet"]
    assert not columns["tp_id"]["facet"]
    assert columns["tp_source_ip"]["description"]
    assert app["default_columns"][0] == "tp_timestamp"
    assert "large" in {one["name"] for one in found["schemas"]}


def test_days_are_counted_without_opening_a_file(client: Client) -> None:
    found = client.post("histogram", search={**TABLE, "from": "2024-01-01", "to": "2024-02-01"}, buckets=120)
    assert (found["source"], found["step_seconds"], found["total"]) == ("catalog", 86_400, 72)
    assert found["files"] == {"read": 0, "total": 3}
    assert [one["n"] for one in found["buckets"]][6:11] == [0, 24, 24, 24, 0]
    rows = client.lines(found["sql"])
    assert [row[1] for row in rows[1]["rows"]] == [24, 24, 24]


def test_a_day_that_the_window_cuts_is_counted_from_its_file(client: Client) -> None:
    found = client.post("histogram", search=search(**{"from": "2024-01-08T12:00", "to": "2024-02-01"}))
    assert (found["source"], found["total"]) == ("files", 60)
    assert found["buckets"][0] == {"t": "2024-01-08T00:00:00Z", "n": 12, "by": None}


def test_counts_of_a_filter_come_from_files_and_colours_split_them(client: Client) -> None:
    found = client.post("histogram", search=search("user:alice"), buckets=3)
    assert (found["source"], [one["n"] for one in found["buckets"]]) == ("files", [6, 6, 6])
    found = client.post("histogram", search=search(), buckets=3, color="user")
    assert found["colors"] == ["admin", "alice", "bob"]
    assert found["buckets"][0]["by"] == {"admin": 6, "alice": 6, "bob": 6}
    assert found["buckets"][0]["n"] == 24


def test_without_a_window_the_newest_day_with_rows_is_shown(client: Client) -> None:
    found = client.post("histogram", search={"table": "app_log", "q": "", "from": None, "to": None})
    assert (found["from"], found["to"], found["total"]) == ("2024-01-10T00:00:00Z", "2024-01-11T00:00:00Z", 24)


def test_days_that_were_not_collected_are_missing(world: World) -> None:
    missing = {"app_log": DaySet.span(date(2024, 1, 3), date(2024, 1, 4)), "other": DaySet.of([date(2024, 1, 5)])}
    with open_session(world.open()) as session:
        body = Body({"search": {**TABLE, "from": "2024-01-04T06:00", "to": "2024-01-20"}})
        found = histogram(session, body, missing)
    assert found["missing"] == [{"from": "2024-01-04T00:00:00Z", "to": "2024-01-05T00:00:00Z"}]


def test_the_coverage_of_a_partition_is_a_calendar(home: Path) -> None:
    world = World(home, "")
    world.log({"at": 1, "user": "a"}, day="2024-01-08")
    world.collect()
    with serving(world.open()) as client:
        days = {one["day"]: one for one in client.get("coverage?partition=app_log.p")["days"]}
        assert days["2024-01-08"] == {"day": "2024-01-08", "state": "covered", "rows": 1}
        assert days["2024-01-09"] == {"day": "2024-01-09", "state": "covered", "rows": 0}
        assert days["2024-03-01"]["state"] == "not_requested"
        found = client.get("status")["partitions"][0]
        assert (found["outcome"], found["gap_days"], found["is_in_config"]) == ("done", 0, True)
        (run,) = client.get("runs?partition=app_log.p")["runs"]
        assert (run["outcome"], run["kept"], run["error"]) == ("done", 1, None)


def test_rows_come_newest_first_page_by_page(client: Client) -> None:
    seen: list[str] = []
    after = None
    while True:
        page = client.post("rows", search=search("user:alice"), columns=["size", "user"], limit=5, after=after)
        assert [one["name"] for one in page["columns"]] == ["size", "user"]
        assert {row[1] for row in page["rows"]} == {"alice"}
        seen += [one["tp_id"] for one in page["ids"]]
        after = page["next"]
        assert page["complete"]
        if after is None:
            break
    assert len(seen) == len(set(seen)) == 18
    ordered = client.lines("SELECT tp_id FROM app_log WHERE user = 'alice' ORDER BY tp_timestamp DESC, tp_id")
    assert seen == [row[0] for row in ordered[1]["rows"]]


def test_the_newest_rows_open_the_newest_file_alone(client: Client) -> None:
    found = client.post("rows", search=search(), limit=10)
    assert found["files"] == {"read": 1, "total": 3}
    assert found["rows"][0][0] == "2024-01-10T23:00:02Z"
    shown = client.lines(found["sql"])
    assert [row[: len(found["columns"])] for row in shown[1]["rows"]] == found["rows"]


def test_all_tables_are_searched_at_once(client: Client) -> None:
    found = client.post("rows", search={**TABLE, "table": "*", "q": "admin"}, limit=100)
    tables = [row[0] for row in found["rows"]]
    assert [one["name"] for one in found["columns"]][:2] == ["table", "tp_timestamp"]
    assert set(tables) == {"app_log", "detection_hit"}
    only = client.post("rows", search={**TABLE, "table": "*", "q": "size:>=0"}, limit=100)
    assert {one["table"] for one in only["ids"]} == {"app_log"}
    counts = client.post("histogram", search={**TABLE, "table": "*"}, buckets=3)
    assert counts["total"] == 72 + 18
    assert client.lines(found["sql"])[-1]["end"]["rows"] == len(found["rows"])


def test_top_values_count_nulls_and_the_others(client: Client) -> None:
    found = client.post("fields", search=search(), fields=["user", "tp_usernames", "event"], top=2)
    user, names, event = found["fields"]
    assert user["values"] == [{"value": "admin", "count": 18}, {"value": "alice", "count": 18}]
    assert (user["nulls"], user["other"]) == (18, 18)
    assert names["values"] == user["values"]
    assert event["values"] == [{"value": "Log In", "count": 36}, {"value": "log out", "count": 36}]
    for value in ("admin", "alice"):  # a click on a value finds as many rows as it says
        assert client.post("histogram", search=search(f'user:"{value}"'))["total"] == 18
    assert client.lines(event["sql"])[-1]["end"]["rows"] == 2


def test_a_filter_is_met_once_for_all_fields_with_the_same_counts(client: Client) -> None:
    names = ["user", "event", "tp_usernames", "tp_source_ip"]
    for q in ("log", "size:>=100", "-user:alice"):
        together = client.post("fields", search=search(q), fields=names, top=3)["fields"]
        alone = [client.post("fields", search=search(q), fields=[name], top=3)["fields"][0] for name in names]
        assert together == alone
    assert sum(one["count"] for one in alone[0]["values"]) == 36


def test_a_row_and_what_it_is_about(client: Client) -> None:
    place = client.post("rows", search=search("user:bob"), limit=1)["ids"][0]
    where = {name: place[name] for name in ("table", "tp_id", "tp_date")}
    row = client.post("row", **where)
    assert row["row"]["user"] == "bob"
    assert row["row"]["tp_usernames"] == ["bob"]
    assert row["types"]["size"] == "BIGINT"
    entities = client.post("related", **where)["entities"]
    assert {(one["kind"], one["value"]) for one in entities} == {("ip", row["row"]["ip"]), ("user", "bob")}
    address = next(one["q"] for one in entities if one["kind"] == "ip")
    assert client.post("histogram", search={**TABLE, "table": "*", "q": address})["total"] == 1
    assert client.failure("row", {**where, "tp_id": "none"}, 404)["message"] == "the row was not found"


def test_a_statement_is_streamed_and_cut_at_its_limit(client: Client) -> None:
    first, *parts, end = client.lines("SELECT i, i * 2 AS j FROM range(1700) t(i)", limit=1500)
    assert first == {"columns": [{"name": "i", "type": "BIGINT"}, {"name": "j", "type": "BIGINT"}]}
    assert [len(part["rows"]) for part in parts] == [500, 500, 500]
    assert (end["end"]["rows"], end["end"]["truncated"], end["end"]["reason"]) == (1500, True, "rows")
    assert client.lines("SELECT 1 AS x")[-1]["end"]["truncated"] is False


def test_values_that_json_cannot_hold_are_text(client: Client) -> None:
    sql = (
        "SELECT 9007199254740993 AS big, 1.10::DECIMAL(9,2) AS money, TIMESTAMP '2024-01-01 10:00' AS at,"
        " TIMESTAMPTZ '2024-01-01 10:00:00+01' AS zoned, DATE '2024-01-01' AS day, INTERVAL 3 DAY AS span,"
        " 'nan'::DOUBLE AS nan, '\\xAA'::BLOB AS bytes, {'a': [1, NULL]} AS s, '{\"x\": 1}'::JSON AS j, NULL AS n,"
        " true AS yes, repeat('x', 70000) AS long, uuid() IS NULL AS u"
    )
    names, row = client.lines(sql)[:2]
    found = dict(zip([one["name"] for one in names["columns"]], row["rows"][0], strict=True))
    assert found["big"] == "9007199254740993"
    assert found["money"] == "1.10"
    assert (found["at"], found["zoned"], found["day"]) == ("2024-01-01T10:00:00Z", "2024-01-01T09:00:00Z", "2024-01-01")
    assert (found["span"], found["nan"], found["bytes"]) == ("3 days", "nan", "\\xAA")
    assert (found["s"], found["j"], found["n"], found["yes"]) == ({"a": [1, None]}, {"x": 1}, None, True)
    assert found["long"]["truncated"] is True
    assert (found["long"]["length"], len(found["long"]["text"])) == (70_000, 65_536)


def test_parameters_are_bound_and_saved_queries_type_them(client: Client) -> None:
    rows = client.lines("SELECT $who AS who", params={"who": "'; DROP TABLE x; --"})[1]["rows"]
    assert rows == [["'; DROP TABLE x; --"]]
    status, _, content = client.request("POST", "/api/sql", {"query": "by_user", "params": {"least": "223"}})
    assert (status, json.loads(content.splitlines()[1])) == (200, {"rows": [[None, 1]]})
    wrong = client.failure("sql", {"query": "by_user", "params": {"least": "many"}})
    assert 'the parameter "least" must be integer' in wrong["message"]


def test_a_mistake_in_sql_has_its_place(client: Client) -> None:
    wrong = client.failure("sql", {"sql": "SELECT\n  usr FROM app_log"})
    assert (wrong["message"], wrong["line"], wrong["column"]) == ('there is no column "usr"', 2, 3)
    assert wrong["hint"] == 'did you mean "user"?'


@pytest.mark.parametrize("output", ["csv", "json", "jsonl", "parquet", "arrow"])
def test_an_export_is_what_the_command_line_writes(client: Client, output: str) -> None:
    body = {"sql": "SELECT user, size FROM app_log ORDER BY ALL", "format": output}
    status, headers, content = client.request("POST", "/api/export", body)
    assert status == 200
    assert headers["content-disposition"].startswith('attachment; filename="tailpipe-')
    assert headers["content-disposition"].endswith(f'.{output}"')
    if output == "csv":
        assert len(list(csv.DictReader(io.StringIO(content.decode())))) == 72
    elif output in ("json", "jsonl"):
        rows = json.loads(content) if output == "json" else [json.loads(line) for line in content.splitlines()]
        assert len(rows) == 72
        assert rows[0].keys() == {"user", "size"}
    else:
        source = io.BytesIO(content)
        table = pyarrow.parquet.read_table(source) if output == "parquet" else pyarrow.ipc.open_file(source).read_all()
        assert table.num_rows == 72


@pytest.mark.parametrize(
    "text", ["=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "a\r\n=1", '"=1', "\ufeff=1"]
)
def test_text_that_a_spreadsheet_may_run_is_exported_as_it_is(client: Client, text: str) -> None:
    literal = text.replace("'", "''")
    for output in ("csv", "json"):
        body = {"sql": f"SELECT '{literal}' AS a, 2 AS b", "format": output}
        _, headers, content = client.request("POST", "/api/export", body)
        assert headers["x-content-type-options"] == "nosniff"
        if output == "csv":
            assert list(csv.reader(io.StringIO(content.decode(), newline=""))) == [["a", "b"], [text, "2"]]
        else:
            assert json.loads(content) == [{"a": text, "b": 2}]


def test_dashboards_and_their_panels(client: Client) -> None:
    (found,) = client.get("dashboards")["dashboards"]
    assert (found["title"], [one["title"] for one in found["panels"]]) == ("The shop", ["Events by user", "Large ones"])
    users = client.post("panel", dashboard="shop", panel="users", params={})
    assert [row[1] for row in users["rows"]] == [18, 18, 18, 18]
    assert client.post("panel", dashboard="shop", panel=1)["rows"] == [[n, 6] for n in ("admin", "alice", "bob", None)]
    assert client.failure("panel", {"dashboard": "shop", "panel": "x"})["message"] == "panel not found: x"
    saved = {one["name"]: one for one in client.get("saved")["queries"]}
    assert saved["by_user"]["params"][0]["default"] == 0


def test_status_rejected_rows_and_runs(client: Client) -> None:
    found = client.get("status")
    assert {one["name"]: one["rows"] for one in found["partitions"]} == {"app_log.p": 72, "detection_hit.hits": 18}
    assert (found["stores"], found["alerts_waiting"]) == ([], 0)
    assert client.get("rejected?partition=app_log.p&limit=5")["rows"] == []
    assert client.get("runs?limit=5")["runs"] == []
    days = client.get("coverage?partition=app_log.p&from=2024-01-08&to=2024-01-09")["days"]
    assert [(one["day"], one["rows"]) for one in days] == [("2024-01-08", 24), ("2024-01-09", 24)]
    assert client.failure("coverage?partition=nope", None)["message"] == 'unknown partition "nope"'


def test_hits_are_acknowledged_once(home: Path) -> None:
    world = World(home, 'detection "a" {\n table = "app_log"\n where = "true"\n severity = "high"\n}\n')
    world.begin()
    world.append(*({"at": number, "user": "x"} for number in range(5)))
    world.detect()
    with serving(world.open()) as client:
        pages = [client.get("hits?limit=2")]
        while pages[-1]["next"]:
            pages.append(client.get(f"hits?limit=2&after={pages[-1]['next']}"))
        hits = [one for page in pages for one in page["hits"]]
        assert len({one["id"] for one in hits}) == len(hits) == 5
        assert hits[0]["row"]["user"] == "x"
        ids = [one["id"] for one in hits[:2]]
        assert client.post("hits/ack", ids=ids, acknowledged=True, note="known")["changed"] == 2
        assert client.post("hits/ack", ids=ids, acknowledged=True, note="again")["changed"] == 0
        seen = client.get("hits?acknowledged=true")["hits"]
        assert {one["id"]: one["acknowledged"]["note"] for one in seen} == dict.fromkeys(ids, "known")
        assert len(client.get("hits?acknowledged=false&severity=high&detection=a")["hits"]) == 3
        rebuild(world.open(), accept_loss=False)
        assert len(client.get("hits?acknowledged=true")["hits"]) == 2
        assert client.post("hits/ack", ids=ids, acknowledged=False)["changed"] == 2
        assert client.failure("hits/ack", {"ids": ["0" * 32], "acknowledged": True}, 404)["message"]
        assert client.failure("hits/ack", {"ids": ["x' OR 1=1"], "acknowledged": True})["message"]
    with serving(world.open(), is_read_only=True) as client:
        assert client.failure("hits/ack", {"ids": ids, "acknowledged": True}, 403)["message"]
        assert client.get("meta")["read_only"] is True


def test_what_is_committed_meanwhile_is_seen_by_the_next_request(home: Path) -> None:
    world = World(home, "")
    with serving(world.open()) as client:
        empty = client.post("rows", search={**TABLE, "table": "*"})
        assert (empty["rows"], empty["next"]) == ([], None)
        assert client.post("histogram", search={**TABLE, "table": "*"})["total"] == 0
        for count in (1, 2):
            world.append({"at": count, "user": "a"})
            assert client.post("histogram", search=TABLE)["total"] == count
            assert len(client.post("rows", search=TABLE)["rows"]) == count


def test_an_answer_is_kept_until_the_next_commit(client: Client) -> None:
    body = {"search": search("kept"), "limit": 3}
    first, second = (client.request("POST", "/api/rows", body)[2] for _ in range(2))
    assert first == second  # with its milliseconds
    cache = client.explorer._cache
    assert cache._size <= Limits().cached_bytes


def test_a_search_that_is_wrong_says_where(client: Client) -> None:
    wrong = client.failure("rows", {"search": search("alice usr:x")})
    assert (wrong["message"], wrong["line"], wrong["column"]) == ('unknown field "usr"', 1, 7)
    assert client.failure("rows", {"search": search(table="nope")})["message"] == 'unknown table "nope"'
    assert "unknown column" in client.failure("rows", {"search": search(), "columns": ["x y"]})["message"]
    assert "unknown field" in client.failure("fields", {"search": search(), "fields": ["nope"]})["message"]
    assert "unknown field" in client.failure("histogram", {"search": search(), "color": "nope"})["message"]
