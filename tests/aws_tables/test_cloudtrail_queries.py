"""The saved queries for CloudTrail find what they ask for in a trail, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tailpipe.plugins.aws import plugin
from tailpipe.query.session import Session
from tests.aws_tables.golden import Case, session, staged
from tests.aws_tables.trail import document

QUERIES = dict(zip((n for n, _ in plugin.parts("query")), plugin.loaded("query"), strict=True))
GIVEN: dict[str, dict[str, object]] = {
    "cloudtrail_failed_logins": {"days": 100_000},
    "cloudtrail_key_activity": {"key": "AKIAEXAMPLEANNA"},
}
"""Values that the queries need for these events."""
EXPECTED: dict[str, tuple[int, str]] = {
    "cloudtrail_failed_logins": (3, "2001:db8::bad"),
    "cloudtrail_failed_logins_by_address": (1, "2001:db8::bad"),
    "cloudtrail_logins_without_mfa": (1, "eve"),
    "cloudtrail_root_activity": (1, "CreateVirtualMFADevice"),
    "cloudtrail_mfa_removed": (1, "anna"),
    "cloudtrail_password_policy_changed": (1, "DeleteAccountPasswordPolicy"),
    "cloudtrail_login_changed_for_others": (1, "UpdateLoginProfile"),
    "cloudtrail_access_keys_created": (1, "AKIANEW"),
    "cloudtrail_key_activity": (3, "198.51.100.77"),
    "cloudtrail_keys_from_many_addresses": (3, "198.51.100.77"),
    "cloudtrail_users_created": (1, "backdoor"),
    "cloudtrail_admin_granted": (1, "AdministratorAccess"),
    "cloudtrail_inline_policies": (1, "more"),
    "cloudtrail_role_trust_changed": (1, "web"),
    "cloudtrail_cross_account_roles": (1, "999988887777"),
    "cloudtrail_denied_requests": (1, "eve"),
    "cloudtrail_caller_identity": (1, "eve"),
    "cloudtrail_public_buckets": (2, "open"),
    "cloudtrail_public_access_block_removed": (1, "open"),
    "cloudtrail_shared_snapshots": (1, "snap-1"),
    "cloudtrail_kms_keys_disabled": (1, "key-1"),
    "cloudtrail_many_secrets_read": (1, "eve"),
    "cloudtrail_buckets_deleted": (1, "backup"),
    "cloudtrail_trails_changed": (1, "org-trail"),
    "cloudtrail_monitoring_disabled": (1, "DeleteDetector"),
    "cloudtrail_organization_left": (1, "eve"),
    "cloudtrail_open_security_groups": (1, "sg-open"),
    "cloudtrail_unusual_regions": (1, "ap-south-1"),
    "cloudtrail_instance_credentials": (1, "198.51.100.66"),
    "cloudtrail_remote_commands": (1, "AWS-RunShellScript"),
}
"""How many rows each question has for an answer, and what stands in one of them."""


@pytest.fixture(scope="module")
def trail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    root = tmp_path_factory.mktemp("trail")
    (root / "trail.in.json").write_bytes(document())
    case = Case("aws_cloudtrail_log", root / "trail.in.json")
    outcome = staged(case, root / "files")
    assert outcome.accounts.rejected == 0
    with session({case: outcome}, root) as found:
        yield found


def run(trail: Session, name: str, **given: object) -> list[tuple[object, ...]]:
    query = QUERIES[name]
    return list(trail.run(query.text, query.values({**GIVEN.get(name, {}), **given}, now=datetime.now(UTC))).rows)


def test_there_are_thirty_questions_and_every_one_has_an_answer() -> None:
    assert sorted(QUERIES) == sorted(EXPECTED)
    assert len(QUERIES) == 30


@pytest.mark.parametrize("name", EXPECTED)
def test_the_question_finds_what_it_asks_for(name: str, trail: Session) -> None:
    rows = run(trail, name)
    count, text = EXPECTED[name]
    assert len(rows) == count
    assert any(text in str(row) for row in rows)


@pytest.mark.parametrize(
    ("name", "given", "rows"),
    [
        ("cloudtrail_failed_logins", {"who": "nobody"}, 0),
        ("cloudtrail_failed_logins", {"days": 0}, 0),
        ("cloudtrail_failed_logins_by_address", {"least": 4}, 0),
        ("cloudtrail_root_activity", {"account": "000000000000"}, 0),
        ("cloudtrail_key_activity", {"key": "nobody' OR true --"}, 0),
        ("cloudtrail_keys_from_many_addresses", {"least": 100}, 0),
        ("cloudtrail_denied_requests", {"least": 100}, 0),
        ("cloudtrail_many_secrets_read", {"least": 100}, 0),
        ("cloudtrail_unusual_regions", {"regions": "ap-south-1,eu-central-1,us-east-1"}, 0),
        ("cloudtrail_instance_credentials", {"network": "0.0.0.0/0"}, 0),
    ],
)
def test_parameters_change_the_answer(name: str, given: dict[str, object], rows: int, trail: Session) -> None:
    assert len(run(trail, name, **given)) == rows
