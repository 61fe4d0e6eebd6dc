"""The pages for those who run it: files, limits, messages and reports are those of the code."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from tailpipe.catalog import catalog, clean
from tailpipe.catalog.layout import INTERNAL, LONGEST, Layout
from tailpipe.cli import answer
from tailpipe.cli.report_records import summary_record
from tailpipe.collect import events
from tailpipe.formats.key_limit import FIELDS_LIMIT
from tailpipe.kernel.task import Limits
from tailpipe.query.views import COPIES
from tailpipe.unpack.streams import UnpackLimits
from tailpipe.unpack.unpack import _FOREIGN
from tests.unit.docs.pages import PAGES, ROOT, codes, fences, read, rows, section

MEGABYTE = 1024 * 1024


def test_every_file_of_a_workspace_is_in_the_tree() -> None:
    [tree] = [fence.body for fence in fences(read("docs/reference/files.md")) if not fence.info]
    shown = {line.split()[0].rstrip("/") for line in tree.splitlines()}
    layout = Layout.of(Path("/w"))
    places = [getattr(layout, name) for name, one in vars(Layout).items() if isinstance(one, property)]
    inside = {str(place.relative_to(f"/w/{INTERNAL}")) for place in places if place not in (layout.internal,)}
    inside -= {str(layout.catalog_lock.relative_to(f"/w/{INTERNAL}"))}
    assert inside | {COPIES, INTERNAL, layout.client_database("tailpipe").name} <= shown


def test_only_one_page_draws_the_tree() -> None:
    drawn = [
        page
        for page in PAGES
        for fence in fences(read(page))
        if "tp_table=" in fence.body and "manifests/" in fence.body
    ]
    assert drawn == ["docs/reference/files.md"]


def test_the_limits_are_those_of_the_code() -> None:
    page = read("docs/reference/limits.md")
    told = {cells[0]: cells[1] for cells in rows(page)}
    limits, unpack = Limits(), UnpackLimits()
    assert told["a line"] == f"{limits.line_bytes // MEGABYTE} MB"
    assert told["a record in a JSON document"] == f"{limits.record_bytes // MEGABYTE} MB"
    assert told["an artifact, unpacked"] == f"{limits.artifact_bytes // MEGABYTE // 1024} GB"
    assert told["a member of an archive, unpacked"] == f"{unpack.max_member_bytes // MEGABYTE // 1024} GB"
    assert told["members of an archive"] == f"{unpack.max_members:,}"
    assert told["archives in one another, or compressions over one another"] == str(unpack.max_nesting)
    ratio = f"unpacked bytes for one packed byte, from {unpack.ratio_from_bytes // MEGABYTE} MB on"
    assert told[ratio] == str(unpack.max_ratio)
    assert told["different keys of `logfmt`, undeclared keys of JSON"] == f"{FIELDS_LIMIT:,}"
    assert told["a value of `tp_index` in a directory name"].startswith(f"{LONGEST} bytes")
    assert told["free room below which nothing is begun"] == f"{catalog.LEAST_BYTES // MEGABYTE} MB"
    assert told["how long a replaced file stays readable"] == "one hour"
    assert clean.GRACE.total_seconds() == 3600
    assert told["rows of `--output pretty`"].startswith(f"{answer._MOST_ROWS:,}")
    assert all(name.partition(" ")[0] in page for name in _FOREIGN.values())


def test_every_message_that_is_looked_up_is_one_of_ours() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    tables = read("docs/troubleshooting.md") + section(read("docs/aws.md"), "When it fails")
    seen = [code for cells in rows(tables) for code in codes(cells[0])]
    messages = [code for code in seen if " " in code]
    assert len(messages) > 15
    for message in messages:
        assert all(part.strip() in source for part in message.split("…")), message


def test_every_field_of_the_report_is_described() -> None:
    described = section(read("docs/reference/collect.md"), "The report in JSON")
    names = {code for cells in rows(described) for code in codes(cells[0])}
    assert names == set(summary_record(events.Summary("app_log.shop")))
    assert names >= {field.name for field in fields(events.Summary)}
    assert {"units", "kind", "reason", "bytes"} <= set(codes(described))
