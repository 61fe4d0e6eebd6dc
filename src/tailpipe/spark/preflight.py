"""The preflight of a cluster: each host has the same software as the driver, and can write to where files go.

A difference would show later as a failing task or, worse, as rows that one host parses otherwise. Files go into the
stores of the partitions, into which each host puts one object; or into a directory that all hosts share.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailpipe.errors import SparkError
from tailpipe.frozen import frozen
from tailpipe.kernel.delivery import Depots
from tailpipe.spark.cluster import count_executors, limited_wait
from tailpipe.spark.jobs import job_failure
from tailpipe.spark.probe import GROUP, PACKAGES, Software, here, unlike

if TYPE_CHECKING:
    from pyspark import SparkContext

_PROBE_SECONDS = 120
"""So long do we try to get an answer of each executor: the Python of a busy host starts slowly."""
_TASK_SECONDS = 0.3
_CLOCK_SECONDS = 300
"""S3 refuses requests of hosts whose clocks differ by more than 15 minutes."""
_SMALLEST = 256 * 1024 * 1024
_HOST = re.compile(r"\(TID \d+\) \((\S+) executor")
_OTHER_PYTHON = re.compile(r"Python in worker has different version:? (\S+?) than that in driver:? (\S+?),")
_NO_MODULE = re.compile(r"No module named '(\w+)")
_UNITS = {"b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_SOFTWARE = "give each host the software that this machine has, or set archive = true in the spark block"
_DISK = "give each host the software and the data_dir that this machine has, or give the partitions a store"
_CLOCK = "set the clocks of the hosts"
_STORE = "give the hosts a role, or an environment, that may read, write and list it"


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
    """What it has written into the directory, as a sign, and put into each store."""
    stores: Mapping[str, str] = field(default_factory=dict)
    """Why stores cannot be used there, by name."""
    clock: float = 0
    """Seconds since 1970 when it began to put."""

    @property
    def software(self) -> Software:
        """The versions and plugins, as they are compared."""
        return Software(self.host, tuple(self.versions.items()), tuple(self.plugins.items()))


Prober = Callable[[Iterable[int]], list[dict[str, Any]]]
"""The probe as it travels to a host; it answers one task."""


def check_cluster(
    context: SparkContext, staging: Path | None, wait_seconds: float, depots: Depots | None = None
) -> None:
    """Check the hosts of a cluster, or raise that it has none after the wait."""

    def probe_hosts(prober: Prober) -> list[Probe]:
        with limited_wait(context, wait_seconds):
            return _probe_all(context, prober)

    check_hosts(probe_hosts, staging, depots)


def check_hosts(
    probe_hosts: Callable[[Prober], list[Probe]], staging: Path | None, depots: Depots | None = None
) -> None:
    """Raise one `SparkError` that names every host that differs, and how.

    Files go into the directory `staging`, if there is one, and into the stores. `probe_hosts` probes each host.
    """
    tag, depots = uuid.uuid4().hex, depots or {}
    pickled = {name: pickle.dumps(depot) for name, depot in depots.items()}
    with _sign(staging) as sign:
        probes = probe_hosts(_prober(str(sign or ""), PACKAGES, GROUP, tag, pickled))
        found = differences(here(), probes)
        hint = _SOFTWARE
        unseen = [f"{one.host}: {why}" for one in probes if sign and not one.disk and (why := _unseen(sign, one))]
        if unseen or any(one.disk for one in probes):
            hint = _DISK
        unstored = list(_store_problems(tag, depots, probes))
    if found or unseen or unstored:
        raise SparkError(
            "the cluster is not ready: " + "; ".join(sorted({*found, *unseen, *unstored})),
            hint=hint if found or unseen else _CLOCK if all("clock" in one for one in unstored) else _STORE,
        )


@contextlib.contextmanager
def _sign(staging: Path | None) -> Iterator[Path | None]:
    """A directory in which hosts leave a sign."""
    if staging is None:
        yield None
        return
    sign = staging.parent / f"preflight-{os.getpid()}-{time.time_ns()}"
    sign.mkdir(mode=0o700, parents=True)
    try:
        yield sign
    finally:
        shutil.rmtree(sign, ignore_errors=True)


def _store_problems(tag: str, depots: Depots, probes: Iterable[Probe]) -> Iterator[str]:
    """Why hosts cannot use stores; hosts that lack software are not checked."""
    for name, depot in depots.items():
        listed = depot.take_signs(tag)
        for probe in probes:
            why = probe.stores.get(name)
            if why:
                yield f"{probe.host} cannot use {depot}: {why}"
            elif why == "":
                modified = listed.get(probe.file)
                if modified is None:
                    yield f"{probe.host} writes to another place than {depot}"
                elif abs(ahead := probe.clock - modified) > _CLOCK_SECONDS:
                    which = "ahead of" if ahead > 0 else "behind"
                    yield f"the clock of {probe.host} is {abs(ahead):,.0f} s {which} that of {depot}"


def differences(own: Software, probes: Iterable[Probe]) -> list[str]:
    """What the hosts have that the driver has not, or otherwise, or not at all."""
    found = (f"{probe.host} {has}" for probe in probes for has in (*unlike(own, probe.software), probe.disk) if has)
    return list(dict.fromkeys(found))


def memory_limit(conf: Mapping[str, str], cores: int) -> str:
    """DuckDB's share of an executor's memory outside its heap, for each task that runs there at once."""
    heap = _bytes(conf.get("spark.executor.memory", "1g"), "b")
    given = conf.get("spark.executor.memoryOverhead")
    overhead = _bytes(given, "m") if given else max(384 * _UNITS["m"], heap // 10)
    share = int(0.7 * overhead / max(1, int(conf.get("spark.executor.cores", cores))))
    return f"{max(_SMALLEST, share) // _UNITS['m']}MiB"


def _bytes(text: str, unit: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([bkmgt]?)b?", text.strip().lower())
    return int(match[1]) * _UNITS[match[2] or unit] if match else 0


def _unseen(sign: Path, probe: Probe) -> str:
    """Why what an executor has written cannot be used here; nothing if it can."""
    try:
        (sign / probe.file).chmod(0o400)
    except FileNotFoundError:
        return f'writes into a "{sign.parent}" of its own, not into the one of this machine'
    except OSError as error:
        return f'writes files that cannot be taken over: "{sign.parent}": {error.strerror}'
    return ""


def _probe_all(context: SparkContext, prober: Prober) -> list[Probe]:
    """A probe of each executor: as many tasks as it takes, for Spark does not place one on each."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    probes: dict[tuple[str, int], Probe] = {}
    end = time.monotonic() + _PROBE_SECONDS
    while not probes or (len(probes) < count_executors(context) and time.monotonic() < end):
        count = max(2, context.defaultParallelism * 2)
        try:
            answers = context.parallelize(range(count), count).mapPartitions(prober).collect()
        except (Py4JError, PySparkException, OSError, RuntimeError) as error:
            raise unanswered(error, job_failure(error).message, context.pythonExec) from error
        for answer in answers:
            probe = Probe(**answer)
            probes[probe.host, probe.executor] = probe
    return list(probes.values())


def unanswered(error: Exception, message: str, python: str) -> SparkError:
    """Why hosts did not answer, by what Spark raised and by the message that came of it."""
    cause = message.partition(": ")[2] or str(error)
    host = _HOST.search(str(error))
    where = host[1] if host else "a host"
    if other := _OTHER_PYTHON.search(str(error)):
        return SparkError(
            f"the cluster is not ready: {where} has Python {other[1]}, not {other[2]}",
            hint='set a Python of the same version with the property "spark.pyspark.python"',
        )
    if missing := _NO_MODULE.search(cause):
        return SparkError(f"the cluster is not ready: {where} lacks {missing[1]}", hint=_SOFTWARE)
    return SparkError(
        f'the cluster is not ready: {where} cannot run "{python}": {cause}',
        hint='set the Python of the hosts with the property "spark.pyspark.python"',
    )


def _prober(sign: str, packages: tuple[str, ...], group: str, tag: str, depots: Mapping[str, bytes]) -> Prober:
    """The probe itself. It travels by value and needs the standard library alone: a host may lack all else."""
    seconds = _TASK_SECONDS

    def probe(_: Iterable[int]) -> list[dict[str, Any]]:
        import importlib
        import os
        import pickle
        import platform
        import time
        import uuid
        from importlib.metadata import entry_points

        versions = {"Python": platform.python_version()}
        for name in packages:
            try:
                versions[name] = importlib.import_module(name).__version__
            except Exception:  # noqa: BLE001, S112 - what cannot be imported, for whatever reason, is not there
                continue
        plugins = {one.name: one.dist.version if one.dist else "" for one in entry_points(group=group)}
        disk, file, clock = "", uuid.uuid4().hex, time.time()
        if sign:
            try:
                with open(os.path.join(sign, file), "x"):  # noqa: PTH118, PTH123
                    pass
            except FileNotFoundError:
                disk = f'does not see "{os.path.dirname(sign)}"'  # noqa: PTH120
            except OSError as error:
                disk = f'cannot write into "{os.path.dirname(sign)}": {error.strerror}'  # noqa: PTH120
        stores = {}
        for name, depot in depots.items() if len(versions) > len(packages) else ():
            try:
                stores[name] = pickle.loads(depot).put_sign(tag, file)  # noqa: S301
            except Exception as error:  # noqa: BLE001 - whatever it is, the driver tells it
                stores[name] = f"{type(error).__name__}: {error}"
        time.sleep(seconds)  # so that the others get a task too
        facts = {"versions": versions, "plugins": plugins, "disk": disk, "file": file}
        return [{"host": platform.node(), "executor": os.getppid(), **facts, "stores": stores, "clock": clock}]

    return probe
