"""The log of a Delta table in a store: what it says now, and its checkpoints.

    data/T/_delta_log/00000000000000000042.json                  a commit: put if absent, never changed
    data/T/_delta_log/00000000000000000100.checkpoint.parquet    all that the log said then
    data/T/_delta_log/_last_checkpoint                           where to begin to read

A state keeps the newest checkpoint as bytes: its list of files, which may be long, is unpacked only where it is needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from tailpipe.errors import ObjectStoreError
from tailpipe.frozen import frozen
from tailpipe.storage.objects import Objects
from tailpipe.stores.delta_actions import ENGINE, Action, log_key, protocol_of, table_of
from tailpipe.stores.delta_checkpoint import is_ours, read_adds, read_facts, to_parquet

_LAST = "_last_checkpoint"
_NAME = re.compile(r"(\d{20})\.(json|checkpoint\.parquet)")
_GETS_AT_ONCE = 16


@frozen
class LogState:
    """What the log below a root says at one version; -1 before the first commit.

    `versions` are the versions of partitions that are published. `size` is that of the newest commit, by which a
    log that was deleted and written anew is noticed. `tail` are the commits since the checkpoint.
    """

    root: str
    version: int = -1
    versions: Mapping[str, int] = field(default_factory=dict)
    metadata: Mapping[str, Any] | None = None
    size: int = 0
    checkpoint: int = -1
    base: bytes | None = None
    tail: tuple[tuple[Action, ...], ...] = ()

    def after(self, actions: Sequence[Action], size: int) -> LogState:
        """The state after the next commit."""
        versions, metadata = dict(self.versions), self.metadata
        for action in actions:
            if transaction := action.get("txn"):
                versions[transaction["appId"]] = transaction["version"]
            metadata = action.get("metaData") or metadata
        tail = (*self.tail, tuple(actions))
        return replace(self, version=self.version + 1, versions=versions, metadata=metadata, size=size, tail=tail)

    def live(self) -> dict[str, dict[str, Any]]:
        """The files of the table, as they were added, by their paths."""
        found = {add["path"]: add for add in read_adds(self.base)} if self.base is not None else {}
        for actions in self.tail:
            for action in actions:
                if remove := action.get("remove"):
                    found.pop(remove["path"], None)
            for action in actions:
                if add := action.get("add"):
                    found[add["path"]] = add
        return found


def commit_key(root: str, version: int) -> str:
    """The key of a commit."""
    return log_key(root, f"{version:020}.json")


def read_log(objects: Objects, root: str, since: LogState | None = None) -> LogState:
    """The newest state of a log; from an earlier one on, if that is still a state of this log."""
    if since is not None and since.version >= 0:
        commits, _ = _listed(objects, root, since.version)
        if commits.pop(since.version, -1) == since.size:
            return _followed(objects, since, commits)
    begin = _last_checkpoint(objects, root)
    commits, checkpoints = _listed(objects, root, begin)
    if begin not in checkpoints:
        commits, checkpoints = _listed(objects, root, 0)
    if not checkpoints:
        return _followed(objects, LogState(root), commits)
    newest = max(checkpoints)
    state = _at_checkpoint(objects, root, newest, commits.get(newest, 0))
    return _followed(objects, state, {version: size for version, size in commits.items() if version > newest})


def write_checkpoint(objects: Objects, state: LogState) -> LogState:
    """Write all that the state says as a checkpoint, so that readers need not read the commits before it."""
    metadata = state.metadata or {}
    adds = list(state.live().values())
    data = to_parquet(adds, state.versions, metadata, protocol_of(state.root))
    objects.put(_checkpoint_key(state.root, state.version), data)
    facts = {"version": state.version, "size": len(adds) + len(state.versions) + 2}
    objects.replace(log_key(state.root, _LAST), json.dumps(facts).encode())
    return replace(state, checkpoint=state.version, base=data, tail=())


def delete_log(objects: Objects, root: str) -> None:
    """Delete the log, and with it the table as other engines know it; the data files stay.

    The newest commits go first: a reader meanwhile sees an older state of the table, or none.
    """
    keys = [one.key for one in objects.list(log_key(root, "").rstrip("/"))]
    commits = [key for key in keys if key.endswith(".json")]
    objects.delete(sorted(set(keys) - set(commits)))
    for begin in range(0, len(commits), 1000):
        objects.delete(sorted(commits, reverse=True)[begin : begin + 1000])


def _at_checkpoint(objects: Objects, root: str, version: int, size: int) -> LogState:
    base = objects.get(_checkpoint_key(root, version))
    try:
        metadata, versions = read_facts(base)
        if is_ours(base):
            return LogState(root, version, versions, metadata, size, version, base)
    except (ValueError, KeyError, OSError):  # Arrow's own errors are of these kinds
        raise _unusable(objects, root, f"checkpoint {version} is not readable") from None
    raise _unusable(objects, root, f"checkpoint {version} was made by another program")


def _followed(objects: Objects, state: LogState, commits: Mapping[int, int]) -> LogState:
    """The state after commits that are listed with their sizes."""
    wanted = sorted(commits)
    if wanted != list(range(state.version + 1, state.version + 1 + len(wanted))):
        raise _unusable(objects, state.root, "commits are missing in it")
    for (actions, size), version in zip(_commits(objects, state.root, wanted), wanted, strict=True):
        _check_ours(objects, state.root, version, actions)
        state = state.after(actions, size)
    return state


def _commits(objects: Objects, root: str, versions: Sequence[int]) -> Iterable[tuple[tuple[Action, ...], int]]:
    def read(version: int) -> tuple[tuple[Action, ...], int]:
        data = objects.get(commit_key(root, version))
        try:
            return tuple(json.loads(line) for line in data.split(b"\n") if line.strip()), len(data)
        except ValueError:
            raise _unusable(objects, root, f"commit {version} is not JSON") from None

    if len(versions) < 2:
        return [read(version) for version in versions]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(_GETS_AT_ONCE, len(versions))) as pool:
        return list(pool.map(read, versions))


def _listed(objects: Objects, root: str, begin: int) -> tuple[dict[int, int], set[int]]:
    """The commits from this version on with their sizes, and the checkpoints."""
    commits: dict[int, int] = {}
    checkpoints: set[int] = set()
    for one in objects.list(log_key(root, "").rstrip("/"), after=log_key(root, f"{begin:020}")):
        if match := _NAME.fullmatch(one.key.rpartition("/")[2]):
            if match[2] == "json":
                commits[int(match[1])] = one.size
            else:
                checkpoints.add(int(match[1]))
    return commits, checkpoints


def _last_checkpoint(objects: Objects, root: str) -> int:
    """The version of the last checkpoint by the pointer file; 0 without one."""
    try:
        return int(json.loads(objects.get(log_key(root, _LAST)))["version"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return 0


def _checkpoint_key(root: str, version: int) -> str:
    return log_key(root, f"{version:020}.checkpoint.parquet")


def _check_ours(objects: Objects, root: str, version: int, actions: Sequence[Action]) -> None:
    """Refuse commits of other programs: what we remove and add afterwards would not fit to what they have made."""
    engine = next((info.get("engineInfo") for action in actions if (info := action.get("commitInfo"))), None)
    if engine != ENGINE:
        raise _unusable(objects, root, f"commit {version} was made by another program ({engine or 'unknown'})")


def _unusable(objects: Objects, root: str, reason: str) -> ObjectStoreError:
    key, table = log_key(root, "").rstrip("/"), table_of(root)
    return ObjectStoreError(
        f'cannot publish "{table}" to "{objects.location}/{key}": {reason}',
        location=objects.location,
        key=key,
        hint=f"run: tailpipe store publish STORE {table}; give other programs permission to read only",
    )
