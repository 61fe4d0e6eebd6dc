"""The preflight of a cluster: each host has the same software as the driver and sees the same directory.

A difference would show later as a failing task or, worse, as rows that one host parses otherwise.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailpipe.errors import SparkError
from tailpipe.frozen import frozen
from tailpipe.spark.cluster import count_executors, limited_wait
from tailpipe.spark.jobs import told

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["Probe", "check_cluster", "differences", "memory_limit", "task_memory"]

_PACKAGES = ("tailpipe", "duckdb", "pyarrow")
_GROUP = "tailpipe.plugins"
_ROUNDS = 5
_TASK_SECONDS = 0.3
_SMALLEST = 256 * 1024 * 1024
_HOST = re.compile(r"\(TID \d+\) \((\S+) executor")
_UNITS = {"b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


@frozen
class Probe:
    """What one executor has: versions by name (Python and packages), its plugins, and what the disk said."""

    host: str
    executor: int
    versions: Mapping[str, str]
    plugins: Mapping[str, str]
    disk: str = ""
    """Why the directory cannot be used there; nothing if it can."""
    file: str = ""
    """What it has written into the directory, as a sign."""


def check_cluster(context: SparkContext, staging: Path, wait_seconds: float) -> None:
    """Raise one `SparkError` that names every host that differs, and how; or that there is none after the wait."""
    sign = staging.parent / f"preflight-{os.getpid()}-{time.time_ns()}"
    sign.mkdir(mode=0o700, parents=True)
    try:
        with limited_wait(context, wait_seconds):
            probes = _probe_all(context, str(sign))
        found = differences(_own(), probes)
        found += [f"{one.host}: {why}" for one in probes if not one.disk and (why := _unseen(sign, one))]
    finally:
        shutil.rmtree(sign, ignore_errors=True)
    if found:
        raise SparkError(
            "the cluster is not ready: " + "; ".join(sorted(set(found))),
            hint="give each host the software and the data_dir that this machine has",
        )


def differences(own: Probe, probes: Iterable[Probe]) -> list[str]:
    """What the hosts have that the driver has not, or otherwise, or not at all."""
    found: dict[str, None] = {}
    for probe in probes:
        for kind, here, there in (("", own.versions, probe.versions), ("plugin ", own.plugins, probe.plugins)):
            for name, version in here.items():
                other = there.get(name)
                if other != version:
                    has = f"has {kind}{name} {other}, not {version}" if other else f"lacks {kind}{name} {version}"
                    found[f"{probe.host} {has}"] = None
        if probe.disk:
            found[f"{probe.host} {probe.disk}"] = None
    return list(found)


def task_memory(context: SparkContext) -> str:
    """The memory limit of a task on this cluster, as it is now."""
    cores = context.defaultParallelism // max(1, count_executors(context))
    return memory_limit(dict(context.getConf().getAll()), cores)


def memory_limit(conf: Mapping[str, str], cores: int) -> str:
    """DuckDB's share of what an executor may use beside its heap, for each task that runs there at once."""
    heap = _bytes(conf.get("spark.executor.memory", "1g"), "b")
    given = conf.get("spark.executor.memoryOverhead")
    overhead = _bytes(given, "m") if given else max(384 * _UNITS["m"], heap // 10)
    share = int(0.7 * overhead / max(1, int(conf.get("spark.executor.cores", cores))))
    return f"{max(_SMALLEST, share) // _UNITS['m']}MiB"


def _bytes(text: str, unit: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([bkmgt]?)b?", text.strip().lower())
    return int(match[1]) * _UNITS[match[2] or unit] if match else 0


def _own() -> Probe:
    from importlib.metadata import entry_points  # late, because only a cluster is looked at

    versions = {"Python": platform.python_version()}
    versions |= {name: importlib.import_module(name).__version__ for name in _PACKAGES}
    plugins = {one.name: one.dist.version if one.dist else "" for one in entry_points(group=_GROUP)}
    return Probe(platform.node(), 0, versions, plugins)


def _unseen(sign: Path, probe: Probe) -> str:
    """Why what an executor has written cannot be used here; nothing if it can."""
    try:
        (sign / probe.file).chmod(0o400)
    except FileNotFoundError:
        return f'writes into a "{sign.parent}" of its own, not into the one of this machine'
    except OSError as error:
        return f'writes files that cannot be taken over: "{sign.parent}": {error.strerror}'
    return ""


def _probe_all(context: SparkContext, sign: str) -> list[Probe]:
    """A probe of each executor: as many tasks as it takes, for Spark does not place one on each."""
    probes: dict[tuple[str, int], Probe] = {}
    for _ in range(_ROUNDS):
        count = max(2, context.defaultParallelism * 2)
        try:
            answers = context.parallelize(range(count), count).mapPartitions(_prober(sign, _PACKAGES, _GROUP)).collect()
        except Exception as error:  # whatever keeps a host from answering is what we look for
            raise _unanswered(error, context.pythonExec) from error
        for answer in answers:
            probe = Probe(**answer)
            probes[probe.host, probe.executor] = probe
        if len(probes) >= count_executors(context):
            break
    return list(probes.values())


def _unanswered(error: Exception, python: str) -> SparkError:
    cause = told(error).message.partition(": ")[2] or str(error)
    host = _HOST.search(str(error))
    where = host[1] if host else "a host"
    return SparkError(
        f'the cluster is not ready: {where} cannot run "{python}": {cause}',
        hint='name the Python of the hosts by the property "spark.pyspark.python"',
    )


def _prober(sign: str, packages: tuple[str, ...], group: str) -> Callable[[Iterable[int]], list[dict[str, Any]]]:
    """The probe itself. It travels by value and needs the standard library alone: a host may lack all else."""
    seconds = _TASK_SECONDS

    def probe(_: Iterable[int]) -> list[dict[str, Any]]:
        import importlib
        import os
        import platform
        import time
        import uuid
        from importlib.metadata import entry_points

        versions = {"Python": platform.python_version()}
        for name in packages:
            try:
                versions[name] = importlib.import_module(name).__version__
            except ImportError:
                continue
        plugins = {one.name: one.dist.version if one.dist else "" for one in entry_points(group=group)}
        disk, file = "", uuid.uuid4().hex
        try:
            with open(os.path.join(sign, file), "x"):  # noqa: PTH118, PTH123
                pass
        except FileNotFoundError:
            disk = f'does not see "{os.path.dirname(sign)}"'  # noqa: PTH120
        except OSError as error:
            disk = f'cannot write into "{os.path.dirname(sign)}": {error.strerror}'  # noqa: PTH120
        time.sleep(seconds)  # so that the others get a task too
        facts = {"versions": versions, "plugins": plugins, "disk": disk, "file": file}
        return [{"host": platform.node(), "executor": os.getppid(), **facts}]

    return probe
