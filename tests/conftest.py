"""What holds for every test: nothing is set for it, interrupts are heard, and property tests try the same examples and
judge no speed. One S3 server serves all that need it."""

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import examples

# What people set for their own work would lead the tests, and all that they start, to other configs and accounts, and
# tell them the size of another terminal.
_OWN = ("TAILPIPE_", "AWS_", "AZURE_", "AZURITE_", "GOOGLE_")
_FOR_TESTS = ("TAILPIPE_UPDATE_GOLDEN", "TAILPIPE_COMMITS", "TAILPIPE_CYCLES", "TAILPIPE_EXAMPLES")
for _name in [name for name in os.environ if name.startswith(_OWN)] + ["COLUMNS", "LINES", "LESS"]:
    if _name not in _FOR_TESTS:
        os.environ.pop(_name, None)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise each process compiles everything that it imports
os.environ["TAILPIPE_AUTO_WARMUP"] = "no"  # nothing goes on after a test

# Most of the time that the tests would wait is fsync to a disk. Processes that tests start and kill lose nothing here.
_MEMORY, _ENOUGH = Path("/dev/shm"), 6 << 30
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ENOUGH:
    _place = _MEMORY / f"tailpipe-tests-{os.getuid()}"
    _place.mkdir(exist_ok=True)
    if _place.stat().st_uid == os.getuid():
        _place.chmod(0o1777)  # as /tmp: some tests run programs as another user
        os.environ["TMPDIR"], tempfile.tempdir = str(_place), None

# A busy machine is slow, and a change must not be refused for an example that nobody has tried before.
settings.register_profile(
    "steady",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=examples(125),
    suppress_health_check=[HealthCheck.too_slow],
)
# New examples with each run, for those who look for what is still wrong.
settings.register_profile("searching", derandomize=False, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

# What a script runs in the background ignores interrupts, and so does all that it starts in turn.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as under nohup


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep what needs the S3 server in one worker of the run."""
    if "s3_url" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.xdist_group("s3"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the groups that one worker runs, so that no worker is alone with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


@pytest.fixture(scope="session")
def s3_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an S3 server."""
    from tests.aws.server import s3_server  # loads boto3: not for those who need none

    with s3_server(tmp_path_factory.mktemp("s3")) as url:
        yield url
