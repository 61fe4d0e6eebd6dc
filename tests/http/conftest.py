"""A server for each test, no proxy of the machine, limits of the test's own, and nobody waits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tailpipe.model.redaction import REDACTOR
from tailpipe.plugin import Retry
from tailpipe.plugins.http import client, tokens
from tests.http.server import Server, served
from tests.http.world import FakeTime

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    known, pattern = set(REDACTOR._values), REDACTOR._pattern
    yield
    tokens.forget()
    REDACTOR._values, REDACTOR._pattern = known, pattern


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """Pauses are noted, not slept."""
    made = FakeTime()
    retry = Retry(sleep=made.sleep, clock=made.clock, chance=lambda low, _: low)
    monkeypatch.setattr(client, "RETRY", retry)
    return made


@pytest.fixture
def server() -> Iterator[Server]:
    with served() as made:
        yield made
