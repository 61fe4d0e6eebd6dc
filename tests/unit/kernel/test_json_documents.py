"""JSON documents: records at a path or at the top, whole and streamed, sound and damaged."""

from __future__ import annotations

import csv
import io
import json
import tarfile
from dataclasses import replace
from time import process_time
from typing import Any

import pytest

from tailpipe.errors import UsageError
from tailpipe.formats import Json
from tailpipe.formats.json_split import Splitter
from tailpipe.kernel.task import Limits
from tailpipe.model.table import Column
from tests.unit.kernel.support import Run, run, shared, task

N = [Column("n", "integer"), Column("s", "varchar")]
STREAMED = Limits(chunk_bytes=64, batch_bytes=500)
JSON_LINES = "if each line is a record, set format = format.jsonl.default in the source"


def records(first: int, last: int) -> list[dict[str, Any]]:
    return [{"time": 1706695200, "n": n, "s": 'a"]}\\é,[{' * (n % 3)} for n in range(first, last)]


def dump(value: Any, **facts: Any) -> bytes:
    return json.dumps(value, **facts).encode()


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("Records", dump({"Records": records(0, 40)})),
        ("Records", dump({"a": {"Records": [1]}, "b": 'x"Records":[', "Records": records(0, 40), "z": {"y": [1, 2]}})),
        ("Records", dump({"Records": records(0, 40)}, indent=2)),
        ("a.b", dump({"b": [{"n": 99}], "a": {"x": {"b": [0]}, "b": records(0, 40)}})),
        (None, dump(records(0, 40))),
        (None, dump(records(0, 40), ensure_ascii=False, indent=1)),
        (None, b"\xef\xbb\xbf \n" + dump(records(0, 40)) + b"\n"),
    ],
)
def test_records_are_found_wherever_they_are(path: str | None, document: bytes, limits: Limits) -> None:
    done = run(document, N, Json(records=path), limits=limits)
    assert done.accounts == (40, 40, 0, 0, 0)
    assert done.column("n") == list(range(40))
    assert done.column("s") == [record["s"] for record in records(0, 40)]
    assert [row["tp_id"].partition("-")[2] for row in done.rows] == [str(n) for n in range(1, 41)]
    (result,) = done.outcome.results
    assert (result.committed_bytes, result.committed_ordinals) == (len(document), 40)


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
def test_documents_that_follow_one_another_and_single_objects(limits: Limits) -> None:
    content = b"\n".join(dump({"Records": records(n * 10, n * 10 + 10)}) for n in range(3))
    done = run(content, N, Json(records="Records"), limits=limits)
    assert done.column("n") == list(range(30))
    single = run(dump(records(7, 8)[0]), N, Json(), limits=limits)
    assert single.column("n") == [7]
    several = run(b"\n".join(map(dump, records(0, 20))), N, Json(), limits=limits)
    assert several.column("n") == list(range(20))


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
def test_a_document_that_is_cut_off_gives_its_whole_records_and_one_rejected(limits: Limits) -> None:
    document = dump({"Records": records(0, 40)})
    done = run(document[:-15], N, Json(records="Records"), limits=limits)
    assert done.accounts == (40, 39, 0, 1, 0)
    assert done.rejected[0]["ordinal"] == 40
    assert done.rejected[0]["reason"] == "the document ends inside a record"
    assert done.rejected[0]["raw"].startswith('{"time": 17066952')


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
def test_a_document_that_is_still_written_goes_on_later(limits: Limits) -> None:
    document = dump({"Records": records(0, 40)})
    early = task(document[:-200], N, Json(records="Records"), limits=limits)
    first = Run(shared(early, readings=(replace(early.readings[0], is_closed=False),)))
    (before,) = first.outcome.results
    assert before.unread_bytes > 0
    assert first.accounts[3] == 0
    late = task(document, N, Json(records="Records"), limits=limits)
    since = replace(late.readings[0], offset_bytes=before.committed_bytes, offset_rows=before.committed_ordinals)
    second = Run(shared(late, readings=(since,)))
    assert [row["n"] for row in first.rows + second.rows] == list(range(40))
    assert second.outcome.results[0].committed_ordinals == 40


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b'{"Error": "none"}', f'there is no array "Records" in the document; {JSON_LINES}'),
        (b'{"Records": {"a": 1}}', '"Records" is an object, not an array'),
        (b'{"Records": null}', '"Records" is null, not an array'),
        (b'{"Records": "[]"}', '"Records" is a string, not an array'),
        (b'{"Records": -1.5}', '"Records" is a number, not an array'),
        (b'{"Records": true}', '"Records" is a boolean, not an array'),
        (b"[[1, 2]]", 'there is no array "Records" in the document'),
        (b"not json at all", 'there is no array "Records" in the document'),
        (b'{"Records": [', "the document ends early"),
    ],
)
def test_a_document_without_its_records_is_one_rejected_row(document: bytes, reason: str, limits: Limits) -> None:
    done = run(document, N, Json(records="Records"), limits=limits)
    assert done.accounts == (1, 0, 0, 1, 0)
    assert done.rejected[0]["reason"] == reason


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
def test_records_that_are_no_objects_are_rejected_and_keep_their_ordinals(limits: Limits) -> None:
    odd = [records(0, 1)[0], 1, "two, {", None, [3], records(5, 6)[0], True]
    done = run(dump({"Records": odd}), N, Json(records="Records"), limits=limits)
    assert done.accounts == (7, 2, 0, 5, 0)
    assert [row["ordinal"] for row in done.rejected] == [2, 3, 4, 5, 7]
    assert done.column("n") == [0, 5]


FOREIGN = [
    dump({"source": "aws.securityhub", "detail-type": "Insight Results", "detail": {"x": "é]}"}}),
    dump({"Records": None}),
    dump({"Records": {"Records": records(0, 2)}}),
    dump({"Records": "[]"}),
    b"17",
    dump('a "string" {['),
    b"--- 12 lines follow, or not; it's \"text",
]


@pytest.mark.parametrize(
    ("limits", "document"),
    [(Limits(), None), (STREAMED, "event"), pytest.param(STREAMED, None, marks=pytest.mark.slow)],
    ids=["whole", "streamed, one document", "streamed"],
)
def test_a_foreign_document_costs_itself_only(document: str | None, limits: Limits) -> None:
    good = [dump({"id": 1, "Records": records(n * 10, n * 10 + 10)}) for n in range(3)]
    contents = {
        f"/{number}/{place}": b"\n".join([*good[:place], foreign, *good[place:]])
        for number, foreign in enumerate(FOREIGN)
        for place in range(4)
    }
    done = run(contents, N, Json(records="Records", document=document), limits=limits)
    count = len(contents)
    assert done.accounts == (31 * count, 30 * count, 0, count, 0)
    assert done.column("n") == list(range(30)) * count
    for rejected in done.rejected:
        _, number, place = rejected["artifact"].split("/")
        assert (rejected["ordinal"], rejected["raw"].encode()) == (int(place) * 10 + 1, FOREIGN[int(number)])
        assert "array" in rejected["reason"]


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
def test_foreign_documents_of_a_file_that_grows_are_rejected_once(limits: Limits) -> None:
    parts = [dump({"Records": records(0, 5)}), FOREIGN[0], dump({"Records": records(5, 10)}), FOREIGN[1]]
    rows, rejected = [], []
    reading: dict[str, Any] = {}
    for count in range(1, 5):
        content = b"\n".join(parts[:count]) + b'\n{"Rec'
        done = run(content, N, Json(records="Records"), limits=limits, reading={**reading, "is_closed": False})
        (result,) = done.outcome.results
        assert result.unread_bytes > 0
        reading = {"offset_bytes": result.committed_bytes, "offset_rows": result.committed_ordinals}
        rows += done.column("n")
        rejected += [(row["ordinal"], row["raw"].encode()) for row in done.rejected]
    assert rows == list(range(10))
    assert rejected == [(6, FOREIGN[0]), (12, FOREIGN[1])]


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
def test_documents_in_an_array_are_documents(limits: Limits) -> None:
    parts = [{"Records": records(0, 5)}, {"Error": 1}, 7, [{"Records": records(0, 5)}], {"Records": records(5, 9)}]
    done = run(dump(parts), N, Json(records="Records"), limits=limits)
    assert done.accounts == (12, 9, 0, 3, 0)
    assert [row["raw"] for row in done.rejected] == [json.dumps(part) for part in parts[1:4]]
    early = run(dump(parts)[:-1], N, Json(records="Records"), limits=limits)
    assert early.accounts == (13, 9, 0, 4, 0)
    assert early.rejected[-1]["reason"] == "the document ends early"


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
@pytest.mark.parametrize("cut", [10, -60, -2])
def test_behind_a_document_that_was_cut_off_the_next_is_read(cut: int, limits: Limits) -> None:
    broken = dump({"id": "a", "Records": records(0, 10), "z": [1]})[:cut]
    content = broken + b"\n" + dump({"id": "b", "Records": records(10, 20)})
    done = run(content, N, Json(records="Records"), limits=limits)
    read, kept, _, bad, _ = done.accounts
    assert (read, bad) == (kept + 1, 1)
    assert [n for n in done.column("n") if n >= 10] == list(range(10, 20))
    (rejected,) = done.rejected
    assert rejected["reason"] == "the document is cut off: another one begins before its end"
    assert broken.endswith(rejected["raw"].encode())


def test_a_cut_off_document_without_its_array_is_rejected_with_its_text() -> None:
    done = run(b'{"id": 1, "Rec', N, Json(records="Records"))
    assert [(row["reason"], row["raw"]) for row in done.rejected] == [("the document ends early", '{"id": 1, "Rec')]


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
def test_behind_a_record_or_document_that_is_too_long_reading_goes_on(limits: Limits) -> None:
    long = {"time": 1706695200, "n": 1, "s": 'x"{' * 2000}
    small = replace(STREAMED, record_bytes=1000)
    done = run(dump({"Records": [*records(0, 5), long, *records(5, 9)]}), N, Json(records="Records"), limits=small)
    assert done.column("n") == list(range(9))
    assert [row["ordinal"] for row in done.rejected] == [6]
    assert done.rejected[0]["reason"] == "a record is longer than 1,000 bytes"
    documents = [{"Records": records(0, 5)}, {"Records": records(0, 90)}, {"Records": records(5, 9)}]
    format = Json(records="Records", max_document_bytes=2000)
    done = run(b"\n".join(map(dump, documents)), N, format, limits=limits)
    assert done.accounts[3] == 1
    assert done.rejected[0]["reason"] == "the document has more than 2,000 bytes"
    assert (done.column("n")[:5], done.column("n")[-4:]) == ([0, 1, 2, 3, 4], [5, 6, 7, 8])
    assert 5 + 4 < len(done.rows) < 5 + 90 + 4


def test_many_documents_of_one_chunk_take_time_in_proportion() -> None:
    few, many = (b"\n".join(dump({"Records": [{"n": n}]}) for n in range(count)) for count in (200, 6_000))
    seconds = []
    for content in (few, many):
        best = float("inf")
        for _ in range(3):
            start = process_time()
            assert sum(map(len, Splitter(("Records",)).feed(content))) == content.count(b"{") // 2
            best = min(best, process_time() - start)
        seconds.append(best)
    assert seconds[1] < seconds[0] * 30 * 6


def test_an_empty_array_is_no_row() -> None:
    for document in (b'{"Records": []}', b'{"Records":[ ]}'):
        assert run(document, N, Json(records="Records")).accounts == (0, 0, 0, 0, 0)


def test_members_of_an_archive_count_on() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for number in range(3):
            data = dump({"Records": records(number * 5, number * 5 + 5)})
            member = tarfile.TarInfo(f"{number}.json")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    done = run({"/x.tar.gz": packed.getvalue()}, N, Json(records="Records"))
    assert done.column("n") == list(range(15))
    assert [row["tp_id"].partition("-")[2] for row in done.rows] == [str(n) for n in range(1, 16)]


def test_a_document_above_its_limit_is_rejected_with_the_limit() -> None:
    document = dump({"Records": records(0, 40)})
    done = run(document, N, Json(records="Records", max_document_bytes=1000), limits=STREAMED)
    assert done.rejected[0]["reason"] == "the document has more than 1,000 bytes"
    assert done.accounts[0] == done.accounts[1] + 1


def test_a_small_limit_holds_for_whole_documents_too() -> None:
    done = run(dump({"Records": records(0, 40)}), N, Json(records="Records", max_document_bytes=1000))
    assert done.accounts[3] == 1
    assert done.rejected[0]["reason"] == "the document has more than 1,000 bytes"


def test_nested_columns_and_json() -> None:
    columns = [
        Column("u", "struct(name varchar, tags varchar[], raw json)"),
        Column("x", "varchar", transform="u.name"),
    ]
    document = {
        "Records": [
            {"time": 1706695200, "u": {"name": "ann", "tags": ["a"], "raw": {"k": 1}}},
            {"time": 1706695200, "u": 5},
        ]
    }
    done = run(dump(document), columns, Json(records="Records"))
    assert done.column("u") == [{"name": "ann", "tags": ["a"], "raw": '{"k":1}'}, None]
    assert done.column("x") == ["ann", None]
    assert done.outcome.results[0].nulls == {"u": 1}


def test_utf16_and_wrong_bytes() -> None:
    document = json.dumps({"Records": records(0, 3)}, ensure_ascii=False)
    done = run(document.encode("utf-16"), N, Json(records="Records", encoding="utf-16"))
    assert done.column("s") == [record["s"] for record in records(0, 3)]
    broken = run(document.encode().replace(b"\xc3\xa9", b"\xff"), N, Json(records="Records"))
    assert broken.column("s")[1] == 'a"]}\\�,[{'
    assert broken.outcome.results[0].notes == {"invalid bytes": 3}


def test_small_documents_are_cut_where_a_guess_is_right_and_split_with_care_where_not() -> None:
    one = {"time": 1706695200, "n": 1, "s": '},{"time":'}
    misleading = b'{"Records":[{"time":1706695200,"n":2,"s":[{"time":1},{"time":2}]},{"time":1706695200,"n":3}]}'
    contents = {
        "/a": dump({"Records": [one, {**one, "n": 2}]}, separators=(",", ":")),
        "/b": dump({"Records": [one, {"n": 2, "time": 1706695200}]}),
        "/c": misleading,
        "/d": dump({"Records": []}),
        "/e": b"",
        "/f": dump({"Records": [one] * 3})[:-30],
        "/g": dump({"Records": [one, 5, one]}),
        "/h": dump({"Records": [{**one, "n": n} for n in range(5)]}, indent=1) + b"\n",
        "/i": dump({"Records": [one] * 2}) + dump({"Records": [one] * 2}),
    }
    done = run(contents, N, Json(records="Records"))
    assert done.accounts == (21, 19, 0, 2, 0)
    read = {one.reading.artifact.uri[1:]: one.accounts.read for one in done.outcome.results}
    assert read == {"a": 2, "b": 2, "c": 2, "d": 0, "e": 0, "f": 3, "g": 3, "h": 5, "i": 4}
    assert [(row["artifact"], row["ordinal"]) for row in done.rejected] == [("/f", 3), ("/g", 2)]
    assert [(row["tp_id"][17:], row["n"]) for row in done.rows if row["tp_source_location"] == "/h"] == [
        (str(n + 1), n) for n in range(5)
    ]


def test_the_members_of_an_archive_that_turns_out_damaged_are_let_go() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in ("x", "y"):
            entry = tarfile.TarInfo(name)
            text = dump({"Records": records(0, 400)})
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    good = dump({"Records": records(0, 5)})
    done = run({"/bad.tgz": packed.getvalue()[:-200], "/good": good}, N, Json(records="Records"))
    assert done.accounts == (5, 5, 0, 0, 0)
    assert "truncated" in str(done.outcome.results[0].error)


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
def test_a_record_may_know_the_document_around_it(limits: Limits) -> None:
    frames: list[dict[str, Any]] = [
        {"id": n, "detail": {"x": "]}", "rows": [], "y": {"z": [n]}}, "last": "é" * n} for n in range(3)
    ]
    documents = []
    for n, frame in enumerate(frames):
        documents.append({**frame, "detail": {**frame["detail"], "rows": records(n * 10, n * 10 + 10)}})
    content = b"\n".join(map(dump, documents)) + dump({"detail": {"rows": []}})
    columns = [*N, Column("event", "json"), Column("from", "integer", transform="(event ->> 'id')::INTEGER")]
    done = run(content, columns, Json(records="detail.rows", document="event"), limits=limits)
    assert done.accounts == (30, 30, 0, 0, 0)
    assert done.column("n") == list(range(30))
    assert done.column("from") == [n // 10 for n in range(30)]
    assert [json.loads(event) for event in done.column("event")[::10]] == frames


def test_a_frame_that_has_no_end_or_is_no_json_or_is_long_is_left_out() -> None:
    columns = [*N, Column("event", "json")]
    format = Json(records="rows", document="event")
    for around in (
        b'{"id": 1, "rows": %s',
        b'{"id": oops, "rows": %s}',
        b'{"id": "' + b"x" * 70_000 + b'", "rows": %s}',
    ):
        done = run(around % dump([*records(0, 2), 7, {}]), columns, format)
        assert done.column("n") == [0, 1]
        assert done.column("event") == [None, None]
        reasons = [row["reason"] for row in done.rejected]
        assert reasons[:2] == ["the record is a JSON number, not an object", '"time" has no time']


def test_the_document_is_that_around_its_records() -> None:
    with pytest.raises(UsageError, match="requires"):
        Json(document="event")


def test_records_may_lie_at_one_of_several_paths_or_be_the_document_itself() -> None:
    format = Json(records=["records", "data.value"])
    documents = [
        b'{"page": 1, "records": [{"time": 1706695200, "n": 1}, {"time": 1706695200, "n": 2}]}',
        b'{"data": {"value": [{"time": 1706695200, "n": 3}]}, "next": "x"}',
        b'{"time": 1706695200, "n": 4}\n{"time": 1706695200, "n": 5}',
        b'[{"time": 1706695200, "n": 6}]',
        b'{"records": "none", "time": 1706695200, "n": 7}',
        b'"text"',
    ]
    contents = {f"/{number}": content for number, content in enumerate(documents)}
    column = [Column("n", "integer")]
    for limits in (Limits(), Limits(chunk_bytes=16)):
        done = run(contents, column, format, limits=limits)
        assert sorted(done.column("n")) == [1, 2, 3, 4, 5, 6, 7]
        assert done.accounts == (8, 7, 0, 1, 0)
    joined = run(b"\n".join(documents[:5]), column, format)
    assert sorted(joined.column("n")) == [1, 2, 3, 4, 5, 6, 7]


def test_a_record_without_a_document_around_it_has_none() -> None:
    format = Json(records=["records", "value"], document="page")
    content = b'{"id": 5, "value": [{"time": 1706695200}]}\n{"time": 1706695200}'
    done = run(content, [Column("page", "varchar", transform="page->>'$.id'")], format)
    assert done.column("page") == ["5", None]


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
def test_an_object_at_one_of_several_paths_is_one_record(limits: Limits) -> None:
    one, two, three, four, five = records(0, 5)
    content = b"\n".join(
        [
            dump({"id": "x", "detail": one, "tail": {"detail": [1]}}),
            dump({"detail": "text", "items": [two, three]}),
            dump([four, {"detail": five}]),
        ]
    )
    done = run(content, N, Json(records=("detail", "items")), limits=limits)
    assert done.column("n") == [0, 1, 2, 3, 4]
    cut = run(content[: content.index(b"tail")] + b"\n" + content, N, Json(records=("detail", "items")), limits=limits)
    assert cut.column("n") == [0, 1, 2, 3, 4]
    assert [row["reason"] for row in cut.rejected] == ["the document is cut off: another one begins before its end"]


@pytest.mark.parametrize("limits", [Limits(), STREAMED], ids=["whole", "streamed"])
def test_a_column_of_a_csv_may_hold_the_records(limits: Limits) -> None:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["CreationDate", "AuditData", "Other, one"])
    writer.writerows(["2024-01-31", dump(one).decode(), "x"] for one in records(0, 5))
    content = text.getvalue().replace("\r\n2024", "\r\ncut\r\n2024", 1).encode()
    for mark in (b"\xef\xbb\xbf", b"#TYPE System.Object\r\n"):
        done = run(mark + content, N, Json(csv_column="AuditData"), limits=limits)
        assert done.column("n") == [0, 1, 2, 3, 4]
    assert done.column("s") == [record["s"] for record in records(0, 5)]
    assert [row["raw"] for row in done.rejected] == ["cut"]
    plain = run(dump(records(0, 5)), N, Json(csv_column="AuditData"), limits=limits)
    assert plain.column("n") == [0, 1, 2, 3, 4]
    assert run(b"a,b\n1,2\n", N, Json(csv_column="AuditData"), limits=limits).rows == []
