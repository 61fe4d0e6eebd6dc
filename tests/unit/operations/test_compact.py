"""Compaction that applies another index."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailpipe.errors import UsageError
from tailpipe.operations.compact import Compact, compact
from tailpipe.workspace import Workspace
from tests.unit.home.support import opened, write


def test_a_new_index_is_checked_before_it_is_applied(tmp_path: Path) -> None:
    write(tmp_path, "a")
    Workspace(opened(tmp_path)).collect("app.x")
    with pytest.raises(UsageError, match=r'no file of app\.x has a column "massage"') as caught:
        compact(opened(tmp_path, 'tp_index = "massage"'), Compact(["app.x"], reindex=True))
    assert caught.value.hint == 'did you mean "message"?'
    (done,) = compact(opened(tmp_path, 'tp_index = "message"'), Compact(["app.x"], reindex=True))
    assert (done.files, done.new_files) == (1, 1)
