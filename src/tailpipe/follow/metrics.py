"""Metrics in the text format of Prometheus. Pure: the state of the loop and of the catalog in, text out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from tailpipe.follow.status import State
from tailpipe.frozen import frozen

_OUTCOMES = ("kept", "filtered", "rejected", "out_of_window", "duplicate")
Labels = Mapping[str, str]
Sample = tuple[Labels, float]


@frozen
class PartitionFacts:
    """What the catalog knows of a partition."""

    rows: int = 0
    rejected_rows: int = 0
    newest_event: float | None = None
    gap_days: int = 0
    store: str | None = None
    not_pushed: int = 0
    not_pushed_since: float | None = None


@frozen
class Facts:
    """What the catalog knows of all of them."""

    partitions: Mapping[str, PartitionFacts] = field(default_factory=dict)
    alerts_waiting: int = 0
    alerts_given_up: int = 0


def metrics_text(state: State, facts: Facts | None, *, now: float, version: str) -> str:
    """The page. Without `facts` the catalog could not be read, and its metrics are left out."""
    return "".join([*_loop(state, version), *_runs(state), *(_catalog(facts, now) if facts is not None else ())])


def _loop(state: State, version: str) -> Iterable[str]:
    yield _family("build_info", "gauge", "Version of tailpipe.", [({"version": version}, 1)])
    yield _family("start_time_seconds", "gauge", "Start of the process.", [({}, state.begun)])
    yield _family("ready", "gauge", "1 once every partition was tried.", [({}, state.is_ready)])
    yield _family("spark_running", "gauge", "1 while Spark is kept running.", [({}, state.has_engine)])
    healthy = [({"partition": name}, one.is_healthy) for name, one in state.partitions.items()]
    yield _family("partition_healthy", "gauge", "0 if the last run failed or a run hangs.", healthy)
    tasks = [({"task": name}, 1) for name in state.tasks]
    yield _family("task_failing", "gauge", "1 for a task that fails or hangs.", tasks)
    yield _family("config_failing", "gauge", "1 if the config was not reloaded.", [({}, bool(state.config_error))])
    hits = [({"detection": name, "severity": severity}, count) for (name, severity), count in state.hits.items()]
    yield _family("hits_total", "counter", "New hits of detections.", hits)


def _runs(state: State) -> Iterable[str]:
    known = [({"partition": name}, one) for name, one in state.partitions.items()]
    rows = [({**of, "outcome": name}, getattr(one.accounts, name)) for of, one in known for name in _OUTCOMES]
    yield _family("rows_total", "counter", "Rows read, by outcome.", rows)
    yield _family("bytes_total", "counter", "Bytes read from the sources.", [(of, one.bytes) for of, one in known])
    yield _family("artifacts_total", "counter", "Artifacts collected.", [(of, one.artifacts) for of, one in known])
    runs = [({**of, "result": "done"}, one.runs - one.failures) for of, one in known]
    runs += [({**of, "result": "failed"}, one.failures) for of, one in known]
    yield _family("runs_total", "counter", "Runs, by result.", runs)
    succeeded = [(of, one.last_success) for of, one in known if one.last_success is not None]
    yield _family("last_success_timestamp_seconds", "gauge", "End of the last successful run.", succeeded)
    yield _summary("run_duration_seconds", "Duration of the runs.", [(of, one.seconds, one.runs) for of, one in known])
    last = [(of, one.last_seconds) for of, one in known]
    yield _family("last_run_duration_seconds", "gauge", "Duration of the last run.", last)


def _catalog(facts: Facts, now: float) -> Iterable[str]:
    known = [({"partition": name}, one) for name, one in facts.partitions.items()]
    yield _family("stored_rows", "gauge", "Rows in the workspace.", [(of, one.rows) for of, one in known])
    rejected = [(of, one.rejected_rows) for of, one in known]
    yield _family("stored_rejected_rows", "gauge", "Rejected rows in the workspace.", rejected)
    newest = [(of, one.newest_event) for of, one in known if one.newest_event is not None]
    yield _family("newest_event_timestamp_seconds", "gauge", "Time of the newest event.", newest)
    lag = [(of, max(0.0, now - moment)) for of, moment in newest]
    yield _family("lag_seconds", "gauge", "Age of the newest event.", lag)
    yield _family("gap_days", "gauge", "Requested days not collected yet.", [(of, one.gap_days) for of, one in known])
    stored = [({**of, "store": one.store}, one) for of, one in known if one.store is not None]
    waiting = [(of, one.not_pushed) for of, one in stored]
    yield _family("store_unpushed_commits", "gauge", "Commits not pushed to the store.", waiting)
    ages = [(of, 0.0 if one.not_pushed_since is None else max(0.0, now - one.not_pushed_since)) for of, one in stored]
    yield _family("store_lag_seconds", "gauge", "Age of the oldest commit that is not pushed.", ages)
    yield _family("alerts_waiting", "gauge", "Alerts that wait for delivery.", [({}, facts.alerts_waiting)])
    yield _family("alerts_given_up", "gauge", "Alerts that were given up.", [({}, facts.alerts_given_up)])


def _family(name: str, kind: str, help: str, samples: Iterable[Sample]) -> str:
    lines = [f"tailpipe_{name}{_labels(labels)} {_number(value)}\n" for labels, value in samples]
    return f"# HELP tailpipe_{name} {help}\n# TYPE tailpipe_{name} {kind}\n" + "".join(lines)


def _summary(name: str, help: str, samples: Iterable[tuple[Labels, float, int]]) -> str:
    lines = [
        f"tailpipe_{name}_sum{_labels(labels)} {_number(total)}\ntailpipe_{name}_count{_labels(labels)} {count}\n"
        for labels, total, count in samples
    ]
    return f"# HELP tailpipe_{name} {help}\n# TYPE tailpipe_{name} summary\n" + "".join(lines)


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    escaped = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
    return "{" + ",".join(f'{name}="{value.translate(escaped)}"' for name, value in labels.items()) + "}"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
