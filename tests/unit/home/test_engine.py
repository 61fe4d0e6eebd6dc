"""The product runs its jobs on Spark; only tests give a workspace another engine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tailpipe
from tailpipe.home.home import Home
from tailpipe.spark.engine import SparkEngine
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace

SOURCE = Path(tailpipe.__file__).parent
MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if SOURCE / "testing" not in path.parents]


def calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))


def test_no_module_of_the_product_uses_the_engine_for_tests() -> None:
    assert len(MODULES) > 100
    # `tailpipe plugin check` runs the samples of a pack, which takes no engine.
    samples = "from tailpipe.testing.packs import pack_problems"
    hint = "tailpipe.testing.check_plugin in a test"
    texts = {path: path.read_text().replace(samples, "").replace(hint, "") for path in MODULES}
    assert "Engine" not in (SOURCE / "testing" / "packs.py").read_text()
    assert [path for path, text in texts.items() if "InProcessEngine" in text or "tailpipe.testing" in text] == []


def test_no_module_of_the_product_gives_a_workspace_an_engine() -> None:
    others = [path for path in MODULES if path != SOURCE / "workspace.py"]  # which takes one from its caller
    opens = ("Home.open", "Workspace.open")
    opening = [call for path in others for call in calls(path) if ast.unparse(call.func).endswith(opens)]
    assert len(opening) == 2  # the command line, and `tailpipe.open`
    assert [ast.unparse(call) for call in opening if "engine" in {word.arg for word in call.keywords}] == []


def test_a_home_without_an_engine_works_on_spark(tmp_path: Path) -> None:
    home = Home.open(env={"TAILPIPE_INSTALL_DIR": str(tmp_path)})
    with home.working() as (_, engine):
        assert type(engine) is SparkEngine


def test_an_engine_that_was_given_is_used_and_stays_open(tmp_path: Path) -> None:
    class Closing(InProcessEngine):
        is_closed = False

        def close(self) -> None:
            self.is_closed = True

    engine = Closing()
    workspace = Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(tmp_path)}, engine=engine)
    assert workspace.collect().is_done
    assert not engine.is_closed
