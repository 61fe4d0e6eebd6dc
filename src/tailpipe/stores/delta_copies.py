"""Copies of data files that are not below the root of their Delta table: other engines find nothing elsewhere.

These are files that earlier versions have pushed, and files of a table that is still published where those did. A copy
has a name that follows from that of its original, so each host makes the same one; `store clean` deletes it with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from tailpipe.errors import ObjectStoreError
from tailpipe.storage.objects import Objects
from tailpipe.stores.delta_actions import Change, Commit, delta_path
from tailpipe.stores.keys import key_below

_AT_ONCE = 16


def copy_files(objects: Objects, root: str, changes: Iterable[Change], commit: Commit) -> None:
    """Copy what a commit adds and is not below the root; copies that are there are not made again."""
    added = {action["add"]["path"] for action in commit.actions if "add" in action}
    keys = {key: file.size for change in changes for key, file in change.added.items() if file.role == "data"}
    wanted = {
        key: str(key_below(root, key))
        for key in keys
        if not key.startswith(f"{root}/") and delta_path(root, key) in added
    }
    if not wanted:
        return
    sizes = {one.key: one.size for one in objects.list(root)}

    def copy(key: str) -> None:
        try:
            objects.copy(key, wanted[key])
        except FileNotFoundError:
            raise ObjectStoreError(
                f'cannot publish "{objects.location}/{key}": it is missing',
                location=objects.location,
                key=key,
                hint="run: tailpipe doctor --stores",
            ) from None

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(copy, (key for key, new in wanted.items() if sizes.get(new) != keys[key])))
