"""The audit log of Kubernetes and that of EKS have the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tailpipe.kernel.task import Outcome
from tailpipe.plugin import Registry
from tests.aws_tables import golden
from tests.aws_tables.golden import TABLES, Case, cases, session, staged


def test_the_audit_log_of_kubernetes_is_that_of_eks_in_the_columns_that_both_have(
    golden_files: tuple[Path, Mapping[Case, Outcome]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, outcomes = golden_files
    audit = Registry.installed().tables["kubernetes_audit_log"]
    monkeypatch.setattr(golden, "TABLES", {**TABLES, "aws_eks_audit_log": audit})
    seen = 0
    for case in (one for one in cases() if one.table == "aws_eks_audit_log"):
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
