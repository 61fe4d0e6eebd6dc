from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tailpipe.kernel.task import Outcome
from tailpipe.query.session import Session
from tests.aws_tables.golden import Case, cases, session, staged


@pytest.fixture(scope="session")
def golden_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mapping[Case, Outcome]]:
    """Every case, run once."""
    root = tmp_path_factory.mktemp("golden")
    return root, {case: staged(case, root / "files") for case in cases()}


@pytest.fixture(scope="session")
def golden_session(golden_files: tuple[Path, Mapping[Case, Outcome]]) -> Iterator[Session]:
    """All golden rows, as queries see them."""
    root, outcomes = golden_files
    with session(outcomes, root) as found:
        yield found
