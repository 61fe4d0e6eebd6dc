"""Which tests `make test-changed` chooses."""

from __future__ import annotations

import pytest

from tests.changed import affected


@pytest.mark.parametrize(
    ("changed", "chosen"),
    [
        ("src/tailpipe/serve/histogram.py", "tests/unit/serve/test_api.py"),
        ("src/tailpipe/serve/static/app/app.js", "tests/web/test_explore.py"),
        ("src/tailpipe/cli/push.py", "tests/stores/test_workspace.py"),
        ("src/tailpipe/plugins/nginx/plugin.tpc", "tests/unit/plugins/test_pack_queries.py"),
        ("docs/clients.md", "tests/e2e/test_clients.py"),
        ("tests/golden/diagnostics/x.tpc", "tests/unit/config/test_golden_diagnostics.py"),
        ("tests/unit/catalog/conftest.py", "tests/unit/catalog/test_commit.py"),
        ("tests/unit/test_changed.py", "tests/unit/test_changed.py"),
    ],
)
def test_a_change_chooses_the_tests_that_use_it(changed: str, chosen: str) -> None:
    found = affected([changed])

    assert chosen in found
    assert "tests/unit/test_frozen.py" not in found


def test_a_change_of_the_vocabulary_chooses_the_tests_of_all_rooms() -> None:
    assert len(affected(["src/tailpipe/model/window.py"])) > 300


def test_a_file_that_no_rule_knows_chooses_all_tests() -> None:
    assert affected(["docs/clients.md", "pyproject.toml"]) == ["tests"]
