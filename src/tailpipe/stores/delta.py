"""Publish a table: bring its Delta log in a store up to the versions of its partitions' own logs.

The manifests stay the truth. The Delta log is derived from them, by whichever host comes first; it can be deleted and
published again at any time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from tailpipe.errors import ObjectStoreError
from tailpipe.frozen import frozen
from tailpipe.storage.objects import Objects
from tailpipe.stores.delta_actions import Change, Commit, commit_of
from tailpipe.stores.delta_copies import copy_files
from tailpipe.stores.delta_log import LogState, commit_key, read_log, write_checkpoint
from tailpipe.stores.delta_schema import LeftOut
from tailpipe.stores.keys import earlier_root, table_root

CHECKPOINT_EVERY = 100
_LARGE_TAIL = 10_000
"""So many actions since the checkpoint are worth another one: readers take far longer for JSON than for parquet."""
_UNKNOWN_OUTCOMES = 5
_log = logging.getLogger(__name__)


@frozen
class Published:
    """What the log says now, whether this call has made a commit, and which columns other engines do not get."""

    state: LogState
    is_changed: bool
    left_out: tuple[LeftOut, ...]


def publish(
    objects: Objects,
    table: str,
    changes: Iterable[Change],
    *,
    since: LogState | None = None,
    checkpoint_every: int = CHECKPOINT_EVERY,
) -> Published:
    """Commit the changes that are not published yet, all in one commit; those that are published are skipped.

    A table that an earlier version published is published there until it is moved (`Publisher.renew`). `since` is a
    state that was read before, which saves requests. Raises GapError if the changes of a partition do not
    follow what is published of it, and ObjectStoreError if another program has written to the log.
    """
    wanted = list(changes)
    state = _newest(objects, table, since)
    is_changed, failures = False, 0
    while not is_changed:
        commit = _commit(state, wanted)
        if not commit.actions:
            break
        copy_files(objects, state.root, wanted, commit)
        data = commit.to_bytes()
        try:
            is_changed = objects.put(commit_key(state.root, state.version + 1), data)
        except ObjectStoreError as error:
            failures += 1
            if not error.is_unknown or failures > _UNKNOWN_OUTCOMES:
                raise
        # If another host was first, or nobody knows who was, the log itself says what is published.
        state = state.after(commit.actions, len(data)) if is_changed else read_log(objects, state.root, state)
    if state.version - state.checkpoint >= checkpoint_every or sum(map(len, state.tail)) >= _LARGE_TAIL:
        state = _with_checkpoint(objects, state)
    return Published(state, is_changed, _commit(state, ()).left_out)


def _newest(objects: Objects, table: str, since: LogState | None) -> LogState:
    """The state of the log, where it is: at the root of today, or at that of earlier versions alone."""
    root = table_root(table)
    if since is not None and since.root == root:
        return read_log(objects, root, since)
    state = read_log(objects, root)
    if state.version < 0:
        earlier = read_log(objects, earlier_root(table), since)
        return earlier if earlier.version >= 0 else state
    return state


def _commit(state: LogState, changes: Iterable[Change]) -> Commit:
    wanted = list(changes)
    live = state.live().values() if any(change.is_whole for change in wanted) else ()
    partitions = {add["path"]: add["partitionValues"].get("tp_partition") for add in live}
    return commit_of(state.root, wanted, versions=state.versions, metadata=state.metadata, live=partitions)


def _with_checkpoint(objects: Objects, state: LogState) -> LogState:
    """The commit is made, so a checkpoint that fails fails nothing: the next publication writes it."""
    try:
        return write_checkpoint(objects, state)
    except ObjectStoreError as error:
        _log.info("no checkpoint of the Delta log of %s: %s", state.root, error)
        return state
