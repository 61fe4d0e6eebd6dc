"""Days without rows need no objects in a store."""

from datetime import UTC, datetime
from pathlib import Path

from tailpipe.home.home import Home
from tailpipe.model.request import Collect
from tailpipe.operations.collect import collect
from tailpipe.testing import InProcessEngine
from tests.stores.installed import TODAY, log

CONFIG = """
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
}
partition "app" "x" {
  store = store.lake
  source "command" {
    shell   = true
    command = "case $TAILPIPE_FROM in DAY*) echo '{\\"time\\": \\"DAYT00:00:01Z\\"}' ;; esac"
  }
}
store "lake" { location = "LAKE" }
workspace "default" { host = "web-1" }
"""


def test_a_row_in_a_month_of_days_makes_two_entries_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "lake").mkdir()
    text = CONFIG.replace("DAY", str(TODAY)).replace("LAKE", str(tmp_path / "lake"))
    (tmp_path / "config" / "main.tpc").write_text(text)
    home = Home.open(env={"TAILPIPE_INSTALL_DIR": str(tmp_path)}, engine=InProcessEngine())
    report = collect(home, Collect(datetime.now(UTC)))
    (summary,) = report.partitions
    assert summary.accounts.kept == 1
    assert len(summary.committed) > 25
    assert summary.push is not None
    assert summary.push.unpushed_commits == 0
    assert len([key for key in log(tmp_path) if "checkpoint" not in key]) <= 3
