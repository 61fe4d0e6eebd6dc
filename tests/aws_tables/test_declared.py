"""Tables that are shipped as `.tpc` files give the rows that their Python classes gave, on all golden files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tailpipe.kernel.task import Outcome
from tailpipe.plugin import Plugin, Registry, Table
from tests.aws_tables import golden
from tests.aws_tables.declared_in_python.alb_access_log import AlbAccessLog
from tests.aws_tables.declared_in_python.cloudtrail_log import CloudtrailLog
from tests.aws_tables.declared_in_python.eks_audit_log import EksAuditLog
from tests.aws_tables.declared_in_python.guardduty_finding import GuarddutyFinding
from tests.aws_tables.declared_in_python.waf_traffic_log import WafTrafficLog
from tests.aws_tables.golden import TABLES, Case, cases, session, shown_notes, shown_rows, staged

PYTHON = Plugin(name="aws", tables=[AlbAccessLog, CloudtrailLog, EksAuditLog, GuarddutyFinding, WafTrafficLog])
CLASSES: Mapping[str, Table] = {table.name: table for table in PYTHON.loaded("table")}
CASES = [case for case in cases() if case.table in CLASSES]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_file_and_a_class_give_the_same_rows(
    case: Case,
    golden_files: tuple[Path, Mapping[Case, Outcome]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root, outcomes = golden_files
    assert type(TABLES[case.table]) is Table, "it comes from a file"
    with session({case: outcomes[case]}, root) as found:
        rows = shown_rows(found, case.table)
    monkeypatch.setattr(golden, "TABLES", {**TABLES, **CLASSES})
    outcome = staged(case, tmp_path / "files")
    with session({case: outcome}, tmp_path) as found:
        expected = shown_rows(found, case.table)
    assert [json.loads(row) for row in rows] == [json.loads(row) for row in expected]
    assert shown_notes(outcomes[case]) == shown_notes(outcome)


@pytest.mark.parametrize("name", CLASSES)
def test_a_file_and_a_class_have_the_same_columns_and_layouts(name: str) -> None:
    file, declared = TABLES[name], CLASSES[name]
    assert [replace(column, transform=None) for column in file.columns] == [
        replace(column, transform=None) for column in declared.columns
    ]
    assert (file.layouts, file.nested_keys, file.map_fields) == (
        declared.layouts,
        declared.nested_keys,
        declared.map_fields,
    )


def test_the_audit_log_of_kubernetes_is_that_of_eks_in_the_columns_that_both_have(
    golden_files: tuple[Path, Mapping[Case, Outcome]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, outcomes = golden_files
    audit = Registry.installed().tables["kubernetes_audit_log"]
    monkeypatch.setattr(golden, "TABLES", {**TABLES, "aws_eks_audit_log": audit})
    seen = 0
    for case in (one for one in CASES if one.table == "aws_eks_audit_log"):
        outcome = staged(case, tmp_path / "files")
        names = ", ".join(f'"{name}"' for name in _SHARED)
        query = f"SELECT {names} FROM aws_eks_audit_log ORDER BY tp_id"
        with session({case: outcomes[case]}, root) as eks, session({case: outcome}, tmp_path) as kubernetes:
            expected, found = list(eks.run(query).rows), list(kubernetes.run(query).rows)
            rest = "FROM aws_eks_audit_log ORDER BY tp_id"
            flat = f'SELECT "user".username, object_ref.resource, response_status.code {rest}'
            lifted = f"SELECT user_name, resource, response_code {rest}"
            assert list(kubernetes.run(lifted).rows) == list(eks.run(flat).rows)
        assert found == expected
        seen += len(found)
    assert seen >= 4


_SHARED = [
    "audit_id",
    "stage",
    "level",
    "kind",
    "api_version",
    "stage_timestamp",
    "verb",
    "request_uri",
    "impersonated_user",
    "source_ips",
    "user_agent",
    "request_object",
    "response_object",
    "annotations",
    "tp_timestamp",
    "tp_source_ip",
]
