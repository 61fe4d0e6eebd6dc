"""Make a workspace with an installed `tailpipe` of an earlier version; see README.md.

    python make_workspace_v4.py TAILPIPE DIRECTORY

Names of logs begin with /proc/self/cwd, so that a test finds them wherever it has unpacked the archive.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from datetime import date, timedelta
from pathlib import Path
from typing import Any

TODAY = date.today()  # noqa: DTZ011 - the runs of tailpipe take their time from the same clock
CONFIG = """
workspace "default" {
  location = "ws"
}
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
  column "message" { type = "varchar" }
}
partition "app" "prod" {
  source "file" {
    paths       = ["/proc/self/cwd/logs/days"]
    file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`
  }
  source "file" "live" {
    paths = ["/proc/self/cwd/logs/live"]
  }
}
partition "app" "jobs" {
  source "command" {
    shell   = true
    command = "echo '{\\"time\\": \\"'$TAILPIPE_FROM'\\", \\"message\\": \\"job\\"}'"
  }
}
"""


def main(tailpipe: str, directory: str) -> None:
    os.chdir(directory)
    Path("main.tpc").write_text(CONFIG)

    def write(name: str, *messages: str, days_ago: int, mode: str = "w") -> None:
        path = Path("logs", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        when = TODAY - timedelta(days=days_ago)
        with path.open(mode) as file:
            file.writelines(json.dumps({"time": f"{when}T10:00:00Z", "message": one}) + "\n" for one in messages)

    def run(*words: str, failpoint: str = "", expected: tuple[int, ...] = (0,)) -> None:
        around = {**os.environ, "TAILPIPE_TEST": "1", "TAILPIPE_FAILPOINT": failpoint}
        done = subprocess.run([tailpipe, *words, "--config-path", "."], env=around, check=False)
        assert done.returncode in expected, (words, done.returncode)

    def read(*words: str) -> Any:
        done = subprocess.run(
            [tailpipe, *words, "--output", "json", "--config-path", "."], stdout=subprocess.PIPE, check=True
        )
        return json.loads(done.stdout)

    for days_ago in (12, 7, 4, 3, 2, 1):
        write(f"days/{TODAY - timedelta(days=days_ago)}.log", f"{days_ago} a", f"{days_ago} b", days_ago=days_ago)
    write("live/app.log", "live 1", "live 2", days_ago=2)
    run("collect", "app.prod", "--from", str(TODAY - timedelta(days=5)))
    write("live/app.log", "live 3", days_ago=1, mode="a")
    with Path("logs/live/app.log").open("a") as file:
        file.write("not JSON\n")
    write(f"days/{TODAY - timedelta(days=3)}-late.log", "3 late", days_ago=3)
    run("collect", "app.prod")
    Path("logs/live/app.log").rename("logs/live/app.log.1")
    write("live/app.log", "live 4", days_ago=0)
    run("collect", "app.prod")
    older = str(TODAY - timedelta(days=12))
    run("collect", "app.prod", "--from", older, "--to", older)
    run("partition", "delete", "app.prod", "--from", str(TODAY - timedelta(days=4)), "--to",
        str(TODAY - timedelta(days=4)), "--force")  # fmt: skip
    run("collect", "app.jobs", "--from", str(TODAY - timedelta(days=2)))
    # A lost manifest is replaced by an image, which is the last of the first format that has one.
    sorted(Path("ws/.tailpipe/manifests").glob("*.manifest"))[-1].unlink()
    run("doctor", "--repair")
    # Killed after it has requested days, and before any transaction has begun.
    words = ("--from", str(TODAY - timedelta(days=8)), "--to", str(TODAY - timedelta(days=6)))
    run("collect", "app.prod", *words, failpoint="intent.before=kill", expected=(-9, 137))
    # Committed and not published: its manifest is in the catalog alone.
    run("collect", "app.jobs", "--from", str(TODAY - timedelta(days=3)), failpoint="commit.after=kill",
        expected=(-9, 137))  # fmt: skip
    answers = {
        "today": str(TODAY),
        "rows": read("query", "SELECT tp_id, tp_date, message, tp_partition FROM app ORDER BY ALL"),
        "partitions": {name: read("partition", "show", name) for name in ("app.prod", "app.jobs")},
    }
    Path("answers.json").write_text(json.dumps(answers, indent=1, sort_keys=True))
    shutil.rmtree("ws/.tailpipe/logs", ignore_errors=True)
    with tarfile.open("workspace.tar.xz", "w:xz", preset=9, format=tarfile.PAX_FORMAT) as archive:
        for name in ("answers.json", "main.tpc", "logs", "ws"):
            archive.add(name, filter=lambda one: one.replace(uid=0, gid=0, uname="", gname="", deep=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
