"""Small batches take both ways through the kernel here: most tests let them be written through, as large ones are."""

from __future__ import annotations

import pytest

from tailpipe.kernel import through


@pytest.fixture(autouse=True)
def written_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of any size are written through, if their rows are alike."""
    monkeypatch.setattr(through, "LEAST_ROWS", 1)
