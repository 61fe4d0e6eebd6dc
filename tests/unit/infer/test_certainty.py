"""A table is only sure if nothing tells against it: another kind of log never becomes a sure table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

import tailpipe
from tailpipe.infer.inference import Known, infer
from tailpipe.infer.places import open_target
from tailpipe.infer.plausible import implausible
from tailpipe.infer.recognise import Judged, Recogniser
from tailpipe.infer.sample import Sample
from tailpipe.model.artifact import Artifact
from tailpipe.plugin import Registry
from tests.sampling import sampled
from tests.unit.infer.classic import RIGHT, classic

NOW = datetime(2024, 2, 10, tzinfo=UTC)
SHIPPED = Registry.installed()
TEXT = ("apache_access_log", "apache_error_log", "haproxy_log", "linux_auth_log", "nginx_access_log", "syslog")
AZURE = ("azure_activity_log", "azure_audit_log", "azure_graph_activity_log", "azure_signin_log")


@pytest.fixture(scope="module")
def text_tables() -> Recogniser:
    return Recogniser({name: SHIPPED.tables[name] for name in TEXT}, NOW)


@pytest.fixture(scope="module")
def azure_tables() -> Recogniser:
    return Recogniser({name: SHIPPED.tables[name] for name in AZURE}, NOW)


def judged(recogniser: Recogniser, lines: Sequence[str], path: str = "/logs/a.log") -> Judged | None:
    data = "".join(line + "\n" for line in lines).encode()
    sample = Sample(Artifact(path, path=path, modified=NOW), data, is_whole=True, encoding="utf-8")
    return next(iter(recogniser.candidates(sample, open_target("/", SHIPPED.sources, None).source)), None)


@pytest.mark.parametrize("kind", sampled(RIGHT, 4))
def test_no_classic_layout_becomes_a_sure_table_of_another_kind(text_tables: Recogniser, kind: str) -> None:
    best = judged(text_tables, classic(kind))
    assert best is None or not best.is_sure or best.table.name in RIGHT[kind]


@pytest.mark.parametrize(("kind", "table"), [("openssh", "linux_auth_log"), ("linux", "syslog"), ("mac", "syslog")])
def test_a_log_with_enough_evidence_is_sure(text_tables: Recogniser, kind: str, table: str) -> None:
    best = judged(text_tables, classic(kind))
    assert best is not None
    assert (best.table.name, best.is_sure) == (table, True)


def test_syslog_of_one_product_is_not_sure(text_tables: Recogniser) -> None:
    best = judged(text_tables, [f"<165>Oct 10 12:34:{n:02} fw1 asa[9]: %ASA-6-305011: Built {n}" for n in range(20)])
    assert best is not None
    assert (best.table.name, best.is_sure) == ("syslog", False)
    assert best.doubts == ("nearly all messages are of asa, and stay text",)


ACCESS = '203.0.113.9 - anna [31/Jan/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "https://a.example/" "curl/8.0"'


@pytest.mark.parametrize(("path", "is_sure"), [("/logs/access.log", False), ("/var/log/nginx/access.log", True)])
def test_of_two_tables_that_fit_one_is_sure_only_if_the_path_names_it(
    text_tables: Recogniser, path: str, is_sure: bool
) -> None:
    best = judged(text_tables, [ACCESS] * 20, path)
    assert best is not None
    assert best.is_sure is is_sure


@pytest.mark.slow
@pytest.mark.parametrize("table", AZURE)
def test_tables_with_one_envelope_are_told_apart_by_the_fields_that_their_columns_are_computed_from(
    azure_tables: Recogniser, table: str
) -> None:
    sample = Path(tailpipe.__file__).parent / "plugins" / "azure" / "samples" / f"{table}.log"
    best = judged(azure_tables, sample.read_text().splitlines())
    assert best is not None
    assert (best.table.name, best.is_sure) == (table, True)


def test_another_product_in_the_same_envelope_is_no_azure_table(azure_tables: Recogniser) -> None:
    line = (
        '{"time": "2024-01-31T10:00:00Z", "tenantId": "t", "operationName": "Publish", "category": "DeviceEvents",'
        ' "properties": {"DeviceName": "d1", "ActionType": "Opened", "FileSize": 3}}'
    )
    best = judged(azure_tables, [line] * 10)
    assert best is None or not best.is_sure


def test_an_envelope_that_most_tables_of_a_vendor_share_makes_no_table_sure() -> None:
    line = (
        '{"time": "2024-01-31T10:00:00Z", "resourceId": "/SUBSCRIPTIONS/S/RESOURCEGROUPS/R/PROVIDERS/MICROSOFT.KEYVAULT'
        '/VAULTS/V", "category": "AuditEvent", "operationName": "SecretGet", "operationVersion": "7.0", "resultType":'
        ' "Success", "resultSignature": "OK", "resultDescription": "", "durationMs": "9", "callerIpAddress": "::1",'
        ' "correlationId": "c", "identity": {"claim": {"oid": "o"}}, "properties": {"id": "https://v.example/secrets/x"}}'
    )
    best = judged(Recogniser(SHIPPED.tables, NOW), [line] * 10)
    assert best is None or not best.is_sure


@pytest.mark.parametrize(
    ("column", "value", "is_wrong"),
    [
        ("host", "web1.example.com", False),
        ("host", "INFO", True),
        ("host", "CEST", True),
        ("host", "192.0.2.7", False),
        ("source_port", "70000", True),
        ("source_port", 443, False),
        ("source_ip", "[main]", True),
        ("program", "%ASA-6-302013", True),
        ("program", "sshd(pam_unix)", False),
        ("message", "INFO", False),
    ],
)
def test_the_name_of_a_column_rules_values_out(column: str, value: object, is_wrong: bool) -> None:
    assert (implausible(column, [value])[0] > 0) is is_wrong


def test_what_tells_against_a_table_is_reported_as_a_guess(tmp_path: Path) -> None:
    log = tmp_path / "fw.log"
    log.write_text("".join(f"<165>Oct 10 12:34:{n:02} fw1 asa[9]: %ASA-6-305011: Built {n}\n" for n in range(20)))
    known = Known({name: SHIPPED.tables[name] for name in TEXT}, SHIPPED.presets)
    (found,) = infer(open_target(str(log), SHIPPED.sources, None), known, NOW, None).found
    first, *others = found.points
    assert (first.confidence, first.text) == ("guessed", "table syslog, shipped: 20 of 20 rows parsed")
    assert any("nearly all messages are of asa" in one.text and one.confidence == "guessed" for one in others)
