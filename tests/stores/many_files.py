"""A store with a long log and very many files, of which a few are real, and a machine that knows nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

from tailpipe.model.store import Store
from tailpipe.stores.keys import checkpoint_of
from tailpipe.stores.pushing import Pushing, StoreUse
from tailpipe.workspace import Workspace
from tests.aws.server import ACCESS_KEY, CONNECTION, SECRET_KEY
from tests.stores.conftest import Shared
from tests.stores.test_rebase import take
from tests.unit.catalog.conftest import PARTITION

FIRST = date(2024, 1, 1)
CONFIG = (
    CONNECTION
    + """
store "lake" {
  location   = "s3://BUCKET/lake"
  connection = connection.aws.local
}
"""
)


@contextmanager
def pushing(host: Shared) -> Iterator[Pushing]:
    """What pushes during a run."""
    store = Store(name="lake", location=host.objects.location)
    use = StoreUse(store, tuple(host.partition_by), lambda files: [one.path for one in files])
    yield Pushing(lambda _: use, host.host, lambda _: host.objects)


def checkpoints(host: Shared) -> list[str]:
    return [key for key in host.keys("log") if checkpoint_of(key)]


def fill(host: Shared, versions: int, files: int, artifacts: int = 0) -> None:
    """Push so many versions, each with the rows of a day, and so many files that only the state knows."""
    for number in range(versions):
        take(host, [f"s3://b/{number}"], day=FIRST + timedelta(days=number))
        if number == versions // 2:
            _multiply(host, files, artifacts)
        with host.open() as catalog, pushing(host) as run:
            [done] = run.finish(catalog, [PARTITION]).values()
            assert done.error == ""


def _multiply(host: Shared, files: int, artifacts: int) -> None:
    """Let the state have files and artifacts as if they had been pushed before; their objects are never read."""
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
    with host.open() as catalog, catalog.database.writing() as connection:
        connection.execute(
            f"{count} INSERT INTO files SELECT path || '-' || i, partition_id, transaction_id, unit, role,"
            " 'i' || i % 27, date('2020-01-01', (i / 27) || ' days'), rows, bytes, sha256,"
            " min_timestamp, max_timestamp, columns_id, state, retired_by, retired_at, 0, 1, key || '-' || i, NULL, 0"
            " FROM n, (SELECT * FROM files WHERE there = 1 ORDER BY path LIMIT 1)",
            (files,),
        )
        names = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info('artifacts')")]
        values = ", ".join(f"{name} || i" if name in ("origin", "uri") else name for name in names)
        if artifacts:
            connection.execute(
                f"{count} INSERT INTO artifacts SELECT {values} FROM n, (SELECT * FROM artifacts LIMIT 1)", (artifacts,)
            )


def new_machine(install: Path, url: str, bucket: str) -> Workspace:
    """A machine whose config has the store alone."""
    (install / "config").mkdir(parents=True)
    text = CONFIG
    for word, value in {"ACCESS": ACCESS_KEY, "SECRET": SECRET_KEY, "URL": url, "BUCKET": bucket}.items():
        text = text.replace(word, value)
    (install / "config" / "main.tpc").write_text(text)
    return Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(install)})
