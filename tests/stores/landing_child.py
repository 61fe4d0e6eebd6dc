"""A process whose children land one transaction each and are killed on the way: `landing_child ROOT POINT…`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tailpipe.storage.object_stores import open_objects
from tests.stores.conftest import Shared
from tests.stores.test_landing import landed


def main(root: Path, points: list[str]) -> None:
    for point in points:
        (root / point / "lake").mkdir(parents=True)
        child = os.fork()
        if child == 0:
            # The first transaction of a partition is the note with which its log begins.
            name = f"{point}:1" if point in ("intent.after", "learn.copied", "learn.before") else point
            landed(
                Shared(root / point / "ws", open_objects(str(root / point / "lake"))),
                ["1", "2"],
                failpoint=f"{name}=kill",
            )
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"{point} was not reached"
        assert os.WTERMSIG(status) == signal.SIGKILL


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
