"""The event log of Spark: it is closed, and its jobs have names that tell what they did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.spark.homes import Home


@pytest.mark.slow
def test_the_event_log_is_closed_and_names_jobs_by_step_and_partition(tmp_path: Path) -> None:
    home, events = Home(tmp_path / "home"), tmp_path / "events"
    events.mkdir()
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": str(events), "spark.eventLog.compress": "false"}
    conf = ", ".join(f'"{name}" = "{value}"' for name, value in settings.items())
    with (home.root / "config" / "app.tpc").open("a") as config:
        config.write(f'workspace "default" {{\n  spark {{\n    conf = {{ {conf} }}\n  }}\n}}\n')
    home.collect(1)
    assert home.run("query", "--engine", "spark", "SELECT count(*) FROM app_log").returncode == 0
    assert not [path for path in events.rglob("*") if path.name.endswith(".inprogress")]
    collected, queried = sorted(events.rglob("events_*"))
    assert jobs_of(collected) == ["tailpipe: infer types app_log.x", "tailpipe: collect app_log.x"]
    assert set(jobs_of(queried)) - {None} == {"tailpipe: query app_log"}


def jobs_of(log: Path) -> list[str | None]:
    """The names of the jobs in an event log that was closed."""
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert records[-1]["Event"] == "SparkListenerApplicationEnd"
    started = [one["Properties"] for one in records if one["Event"] == "SparkListenerJobStart"]
    return [one.get("spark.job.description") for one in started]
