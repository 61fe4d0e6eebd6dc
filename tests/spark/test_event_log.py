"""The event log of Spark: it is closed, and its jobs have names that tell what they did."""

from __future__ import annotations

import json
from pathlib import Path

from tests.spark.homes import Home


def test_the_event_log_is_closed_and_names_jobs_by_step_and_partition(tmp_path: Path) -> None:
    home, events = Home(tmp_path / "home"), tmp_path / "events"
    events.mkdir()
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": str(events), "spark.eventLog.compress": "false"}
    conf = ", ".join(f'"{name}" = "{value}"' for name, value in settings.items())
    with (home.root / "config" / "app.tpc").open("a") as config:
        config.write(f'workspace "default" {{\n  spark {{\n    conf = {{ {conf} }}\n  }}\n}}\n')
    home.collect(1)
    files = [path for path in events.rglob("*") if path.is_file() and not path.name.startswith((".", "appstatus"))]
    assert not [path for path in events.rglob("*") if path.name.endswith(".inprogress")]
    records = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    jobs = [one["Properties"]["spark.job.description"] for one in records if one["Event"] == "SparkListenerJobStart"]
    assert jobs == ["tailpipe: infer types app_log.x", "tailpipe: collect app_log.x"]
    assert records[-1]["Event"] == "SparkListenerApplicationEnd"
