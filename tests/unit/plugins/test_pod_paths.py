"""Columns of a table that come from the path of the log."""

from __future__ import annotations

import pytest

from tailpipe.kernel.task import Reading, Task
from tailpipe.kernel.trial import try_task
from tailpipe.model.artifact import Artifact
from tailpipe.plugin import Registry
from tailpipe.testing.feeding import NOW
from tailpipe.testing.memory import Memory

LINE = b"2024-05-01T10:00:00Z stdout F ready\n"
ID = "0123456789abcdef" * 4
PODS = "/var/log/pods/shop_web-1_0f3c-9/nginx/0.log"


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([PODS], [("shop", "web-1", "0f3c-9", "nginx", None)]),
        (
            [f"{PODS}.20240501-100000.gz", "/elsewhere/app.log", f"/var/log/containers/web-2_shop_side-car-{ID}.log"],
            [
                ("shop", "web-1", "0f3c-9", "nginx", None),
                (None, None, None, None, None),
                ("shop", "web-2", None, "side-car", ID),
            ],
        ),
    ],
)
def test_the_path_of_a_log_names_pod_and_container(paths: list[str], expected: list[tuple[str | None, ...]]) -> None:
    table = Registry.installed().tables["kubernetes_pod_log"]
    assert table.format is not None
    artifacts = [Artifact(path, size=len(LINE), kind="object") for path in paths]
    readings = tuple(Reading(artifact, artifact.uri) for artifact in artifacts)
    task = Task.of("kubernetes_pod_log.test", table, Memory(name="memory", content=LINE), table.format, readings, NOW)
    trial = try_task(task, 10)
    assert trial.rows is not None
    names = ["namespace", "pod_name", "pod_uid", "container_name", "container_id", "tp_source_location"]
    found = sorted(trial.rows.select(names).to_pylist(), key=lambda row: paths.index(row["tp_source_location"]))
    assert [tuple(row[name] for name in names[:-1]) for row in found] == expected
