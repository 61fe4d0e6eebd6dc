"""The workspace of the browser tests: the quickstart's logs, hostile ones, queries, detections and a dashboard."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tailpipe.model.window import Window
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Collect, Detect, Workspace

ROOT = Path(__file__).parents[2]
DAYS = 12
TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
LAST = TODAY - timedelta(hours=6)  # the newest logs are those of yesterday: midnight may come
GAP = TODAY - timedelta(days=9)  # a day whose log cannot be read

CONFIG = """
table "hostile_log" {
  description = "Text that wants to be more than text."
  format      = format.jsonl.default
  column "tp_timestamp" { source = "time" }
}

partition "hostile_log" "test" {
  source "file" {
    paths       = ["${env("TAILPIPE_DEMO_LOGS", "logs")}/hostile"]
    file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.jsonl`
  }
}

query "failed_logins" {
  title       = "Failed logins by address"
  description = "Addresses with failed logins, and how often."
  sql         = <<-EOT
    SELECT tp_source_ip, count(*) AS times
    FROM access_log
    WHERE status = 401 AND tp_date >= current_date - $days
    GROUP BY ALL
    ORDER BY times DESC
  EOT
  param "days" {
    type        = "integer"
    default     = 30
    description = "Look back this many days."
  }
}

query "requests_by_path" {
  title = "Requests by path"
  sql   = "SELECT path, count(*) AS requests FROM access_log GROUP BY ALL ORDER BY requests DESC, path"
}

query "requests_per_day" {
  title = "Requests and errors per day"
  sql   = <<-EOT
    SELECT tp_date, count(*) AS requests, count(*) FILTER (status >= 400) AS errors
    FROM access_log
    GROUP BY ALL
    ORDER BY tp_date
  EOT
}

query "requests_by_status" {
  title = "Requests by status"
  sql   = "SELECT tp_date, status, count(*) AS n FROM access_log GROUP BY ALL ORDER BY 1"
}

query "requests" {
  title = "Requests"
  sql   = "SELECT count(*) AS requests, count(DISTINCT tp_source_ip) AS addresses FROM access_log"
}

dashboard "web" {
  title = "Web server"
  panel "total" {
    title = "Requests and addresses"
    query = "requests"
    kind  = "number"
    width = 4
  }
  panel "paths" {
    title = "Requests by path"
    query = "requests_by_path"
    kind  = "bar"
    width = 8
  }
  panel "days" {
    title = "Requests and errors per day"
    query = "requests_per_day"
    kind  = "line"
    width = 12
  }
  panel "statuses" {
    query = "requests_by_status"
    kind  = "line"
    width = 6
  }
  panel "logins" {
    title = "Failed logins"
    query = "failed_logins"
    kind  = "table"
    width = 6
  }
}

query "hostile" {
  title       = `MARKUP BIDI`
  description = `MARKUP BIDI`
  sql         = `SELECT 'BIDI' AS "BIDI", 1 AS "MARKUP", 'a' AS "MARKUP" UNION ALL SELECT 'x', 2, $constructor`
  param "constructor" {
    type        = "text"
    default     = `MARKUP`
    description = `MARKUP BIDI`
  }
}

dashboard "hostile" {
  title = `MARKUP BIDI`
  panel "table" {
    title = `MARKUP BIDI`
    query = "hostile"
    kind  = "table"
  }
  panel "bar" {
    query = "hostile"
    kind  = "bar"
  }
}

detection "hostile" {
  title    = `MARKUP BIDI`
  table    = "hostile_log"
  where    = "true"
  group_by = ["message"]
  suppress = "1d"
  severity = "low"
}

detection "failed_logins" {
  title     = "Many failed logins from one address"
  table     = "access_log"
  where     = "status = 401"
  threshold = 5
  within    = "6h"
  group_by  = ["tp_source_ip"]
  severity  = "high"
}

detection "payment_down" {
  title    = "Payment provider did not answer"
  table    = "app_log"
  where    = "level = 'error' AND duration_ms > 1500"
  severity = "medium"
}
"""

MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
TITLE = "<img src=x onerror=alert(1)>"
ESCAPES = "\x1b[31mred\x1b[0m \x07bell \x00nul"
BIDI = "user \u202egnp.exe\u202c \u2066left\u2069 \u200bzero"
HUGE = "A" * 1_000_000

NAMES = [
    "__proto__",
    "constructor",
    "toString",
    "valueOf",
    "hasOwnProperty",
    "a,b",
    "-",
    "100%2C",
    "$x{",
    "javascript:x",
]
ENDING = 'x\'\n  EOT\n}\nnotifier "command" "evil" { command = ["true"] }\n${env("HOME")} $${ %{ ORDER BY LIMIT'
HIDDEN = (
    "tag \U000e0041\U000e0042 filler \u3164\u115f joiner \u034f selector \ufe0f half \\ud800 separator \u180e\u2028"
)

HOSTILE: list[dict[str, Any]] = [
    {"message": MARKUP, "kind": "markup", "<b>key</b>": "bold key", "nested": {"<i>x</i>": MARKUP}},
    {"message": ESCAPES, "kind": "escapes"},
    {"message": BIDI, "kind": "bidi"},
    {"message": HUGE, "kind": "huge"},
    {"message": "' OR 1=1; --", "kind": "${7*7} {{7*7}} javascript:document.title='owned'"},
    {"message": "line one\nline two\tand\r\nthree", "kind": "lines"},
    {"message": "names", "kind": "names", **dict.fromkeys(NAMES, "a value"), f"{BIDI} name": BIDI, MARKUP: MARKUP},
    {"message": ENDING, "kind": "ending"},
    {"message": HIDDEN, "kind": "hidden"},
]


def write_logs(home: Path) -> None:
    """The quickstart's logs up to yesterday evening, and a day of hostile ones."""
    script = ROOT / "examples/quickstart/make_logs.py"
    at = f"{LAST:%Y-%m-%dT%H:%M}"
    command = [sys.executable, str(script), str(home / "logs"), "--days", str(DAYS), "--now", at]
    subprocess.run(command, check=True, capture_output=True)
    day = TODAY - timedelta(days=1)
    rows = [
        {"time": f"{day + timedelta(hours=10, minutes=n):%Y-%m-%dT%H:%M:%SZ}", **row} for n, row in enumerate(HOSTILE)
    ]
    broken = home / "logs" / "access" / f"access-{GAP:%Y%m%d}.log.gz"
    broken.write_bytes(broken.read_bytes()[:500])
    hostile = home / "logs" / "hostile"
    hostile.mkdir()
    (hostile / f"{day:%Y-%m-%d}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def environment(home: Path) -> dict[str, str]:
    """The variables that lead to the workspace."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "TAILPIPE_INSTALL_DIR": str(home / "install"),
        "TAILPIPE_CONFIG_PATH": str(home / "config"),
        "TAILPIPE_AUTO_WARMUP": "no",
    }


def make_workspace(home: Path) -> dict[str, str]:
    """Collect the logs, one of which is broken, and run the detections; the variables that lead to it."""
    (home / "config").mkdir()
    quickstart = (ROOT / "examples/quickstart/config/quickstart.tpc").read_text()
    config = CONFIG.replace("MARKUP", TITLE).replace("BIDI", BIDI)
    for name, text in (("world.tpc", config), ("quickstart.tpc", quickstart)):
        (home / "config" / name).write_text(text.replace('${env("TAILPIPE_DEMO_LOGS", "logs")}', str(home / "logs")))
    write_logs(home)
    env = environment(home)
    workspace = Workspace.open(env=env, engine=InProcessEngine())
    begin, end = TODAY - timedelta(days=DAYS + 1), TODAY
    now, window = datetime.now(UTC), Window(begin, end)
    workspace.collect(Collect(now, window))
    workspace.detect(Detect(now, window=window))
    return env


@contextlib.contextmanager
def served(env: dict[str, str]) -> Iterator[str]:
    """The address that `tailpipe serve` prints, token and all, while it runs."""
    command = [sys.executable, "-m", "tailpipe", "serve", "--no-browser", "--port", "0"]
    said = Path(env["HOME"]) / "server.log"
    with said.open("w") as log:
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if found := re.search(r"http://\S+", line):
                yield found[0]
                break
        else:
            raise AssertionError(said.read_text())
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert "Traceback" not in said.read_text(), said.read_text()
