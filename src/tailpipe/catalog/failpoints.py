"""Failpoints: named places where a test makes the process die or the disk fail.

`TAILPIPE_FAILPOINT=name[:skip]=kill|stop|enospc|eio[,…]` arms them, and only together with
`TAILPIPE_TEST=1`: a forgotten variable must not harm anyone's logs.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping

from tailpipe.errors import UsageError

ACTIONS = ("kill", "stop", "enospc", "eio")

NAMES = (
    *("lock.taken", "intent.before", "intent.after", "staging.made", "verify.before", "verify.after"),
    *("store.directory", "store.rename", "store.synced", "commit.begin", "commit.before", "commit.after"),
    *("manifest.written", "manifest.after", "project.unlink", "project.link", "project.copy"),
    *("project.exchange.before", "project.exchange.after", "project.drain", "project.synced", "publish.before"),
    *("publish.after", "staging.remove", "staging.removed", "rollback.orphan", "rollback.staging"),
    *("rollback.before", "rollback.after", "recover.before", "recover.forward", "recover.after"),
    *("clean.unlink", "clean.forget", "delete.before", "delete.after"),
)

STORE_NAMES = (
    *("push.begin", "push.fetched", "push.put", "push.noted", "push.uploaded", "push.appended", "learn.copied"),
    *("learn.before", "push.learned", "tier.left", "tier.withdrawn", "tier.unlink", "tier.forget"),
    *("tier.after",),
)
"""Those of a push and of tiers; a partition without a store never reaches them."""

ROOT_NAMES = (
    *("root.copied", "root.before", "root.switched", "root.recorded", "root.withdraw", "root.unlink"),
    *("root.forget",),
)
"""Those of a partition whose files move to another disk."""

SHARED_NAMES = (*("rebase.copied", "rebase.before", "rebase.after", "push.checkpointed", "pull.stored", "pull.noted"),)
"""Those that only a host reaches which shares its store with others, or has a long log."""

DETECT_NAMES = ("alert.sent", "alert.noted")
"""Those of alerts."""

LAND_NAMES = ("land.checked", "land.appended", "land.learned")
"""Those of a transaction whose files tasks have put into a store."""


class Failpoints:
    """The armed points of this process; with none of them armed, reaching one costs a dict lookup."""

    def __init__(self, armed: Mapping[str, tuple[int, str]] | None = None) -> None:
        self._armed = dict(armed or {})

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Failpoints:
        """Read the variables, and refuse them outside of tests or when they name no point."""
        text = environment.get("TAILPIPE_FAILPOINT", "")
        if not text:
            return cls()
        if environment.get("TAILPIPE_TEST") != "1":
            raise UsageError(
                "TAILPIPE_FAILPOINT is set outside of a test", hint="unset it, or set TAILPIPE_TEST=1 as well"
            )
        armed = {}
        for part in text.split(","):
            place, _, action = part.partition("=")
            name, _, skip = place.partition(":")
            is_known = name in (*NAMES, *STORE_NAMES, *ROOT_NAMES, *SHARED_NAMES, *DETECT_NAMES, *LAND_NAMES)
            if not is_known or action not in ACTIONS or not (skip or "0").isdigit():
                raise UsageError(f'"{part}" is not a failpoint', hint="use name[:skip]=" + "|".join(ACTIONS))
            armed[name] = (int(skip or 0), action)
        return cls(armed)

    def reach(self, name: str) -> None:
        """Do what was armed for this place, if anything."""
        found = self._armed.get(name)
        if found is None:
            return
        skip, action = found
        if skip:
            self._armed[name] = (skip - 1, action)
            return
        del self._armed[name]
        if action == "enospc":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        if action == "eio":
            raise OSError(errno.EIO, os.strerror(errno.EIO), name)
        os.kill(os.getpid(), signal.SIGKILL if action == "kill" else signal.SIGSTOP)
