"""A pack from the command line: checked, installed, used and uninstalled, without any code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACK = {
    "plugin.tpc": 'plugin "till" {\n  description = "Tills of the shop."\n  version = "1.0"\n}\n',
    "tables/till_sale.tpc": """table "till_sale" {
  description = "One row for each sale."
  additional  = "additional"
  format "jsonl" {}
  column "at" { time_format = "%d.%m.%Y %H:%M" description = "When it was sold, in UTC." }
  column "clerk" { type = "varchar" source = "staff.name" description = "Who sold it." }
  common { tp_timestamp = at tp_usernames = [staff.name] }
}
""",
    "samples/till_sale.log": '{"at": "31.01.2024 10:00", "staff": {"name": "anna", "till": 3}}\n',
    "samples/till_sale.expected.jsonl": '{"at": "2024-01-31T10:00:00", "clerk": "anna",'
    ' "additional": {"staff": {"till": 3}}, "tp_timestamp": "2024-01-31T10:00:00", "tp_usernames": ["anna"]}\n',
}


def tailpipe(install: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tailpipe", *arguments],
        env={**os.environ, "TAILPIPE_INSTALL_DIR": str(install)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_pack_is_checked_installed_used_changed_and_uninstalled(tmp_path: Path) -> None:
    pack, install = tmp_path / "till", tmp_path / "install"
    for name, text in PACK.items():
        (pack / name).parent.mkdir(parents=True, exist_ok=True)
        (pack / name).write_text(text)
    assert tailpipe(install, "plugin", "check", str(pack)).returncode == 0
    done = tailpipe(install, "plugin", "install", str(pack))
    assert (done.returncode, done.stderr) == (0, 'installed pack "till" with 1 table: till_sale\n')
    assert "already" in tailpipe(install, "plugin", "install", str(pack)).stderr
    assert tailpipe(install, "plugin", "install", str(pack), "--force").returncode == 0

    tried = tailpipe(install, "table", "test", "till_sale", str(pack / "samples/till_sale.log"), "--output", "jsonl")
    assert '"clerk":"anna"' in tried.stdout.replace(": ", ":")
    printed = tailpipe(install, "table", "show", "till_sale", "--output", "tpc").stdout
    (install / "config").mkdir(exist_ok=True)
    (install / "config" / "mine.tpc").write_text(printed.replace("till_sale", "my_sale").replace("clerk", "seller"))
    shown = tailpipe(install, "table", "show", "my_sale").stdout
    assert "seller" in shown

    assert tailpipe(install, "plugin", "uninstall", "till").returncode == 0
    assert "till" not in tailpipe(install, "plugin", "list").stdout
