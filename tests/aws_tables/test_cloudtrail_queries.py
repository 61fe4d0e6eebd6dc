"""The questions of docs/cloudtrail-queries.md find what they ask for in a trail, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailpipe.query.session import Session
from tests.aws_tables.golden import Case, session, staged
from tests.aws_tables.trail import document

PAGE = Path(__file__).parents[2] / "docs" / "cloudtrail-queries.md"
QUERIES: dict[str, str] = dict(
    re.findall(r"^### ([^\n]+)\n\n```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
)
EXPECTED: dict[str, tuple[int, str]] = {
    "Failed logins to the console": (3, "2001:db8::bad"),
    "Many failed logins from one address": (1, "2001:db8::bad"),
    "Logins to the console without a second factor": (1, "eve"),
    "Everything that the root user did": (1, "CreateVirtualMFADevice"),
    "A second factor was removed": (1, "anna"),
    "The rules for passwords were changed": (1, "DeleteAccountPasswordPolicy"),
    "A login was made or changed for somebody else": (1, "UpdateLoginProfile"),
    "Access keys that were made": (1, "AKIANEW"),
    "Everything that one key did, also a temporary one": (3, "198.51.100.77"),
    "A key that is used from more than one address": (3, "198.51.100.77"),
    "Users that were made": (1, "backdoor"),
    "Rights of an administrator were given": (1, "AdministratorAccess"),
    "A policy was written straight into a user or role": (1, "more"),
    "Who may assume a role was changed": (1, "web"),
    "Roles that another account has assumed": (1, "999988887777"),
    "Requests that were refused, by who made them": (1, "eve"),
    "Somebody looks who they are, as one does with a key that was found": (1, "eve"),
    "Buckets that were made public": (2, "open"),
    "The shield against public buckets was taken away": (1, "open"),
    "Snapshots that were given to others": (1, "snap-1"),
    "Keys of KMS that will be deleted, or were switched off": (1, "key-1"),
    "Who reads many secrets?": (1, "eve"),
    "Buckets that were deleted": (1, "backup"),
    "Trails that were stopped, deleted or changed": (1, "org-trail"),
    "GuardDuty, Config or flow logs were switched off": (1, "DeleteDetector"),
    "An account wants to leave the organization": (1, "eve"),
    "Doors that were opened to the whole internet": (1, "sg-open"),
    "Machines that were started in a region that nobody uses": (1, "ap-south-1"),
    "The credentials of a machine are used from somewhere else": (1, "198.51.100.66"),
    "Commands that were sent to machines": (1, "AWS-RunShellScript"),
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


def test_there_are_thirty_questions_and_every_one_has_an_answer() -> None:
    assert list(QUERIES) == list(EXPECTED)
    assert len(QUERIES) == 30


@pytest.mark.parametrize("title", EXPECTED)
def test_the_question_finds_what_it_asks_for(title: str, trail: Session) -> None:
    rows = list(trail.run(QUERIES[title]).rows)
    count, text = EXPECTED[title]
    assert len(rows) == count
    assert any(text in str(row) for row in rows)
