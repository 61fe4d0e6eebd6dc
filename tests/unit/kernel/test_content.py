"""What `open` of a source may give, and what becomes of anything else."""

from __future__ import annotations

import gzip
import io
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tailpipe.kernel.run import run_task
from tailpipe.kernel.task import Staging
from tailpipe.model.artifact import Artifact
from tailpipe.model.event import Event
from tailpipe.model.option import Secret, option
from tailpipe.model.source import Source
from tailpipe.model.window import Window
from tests.unit.kernel.support import Run, shared, task

LINES = b'{"time": "2024-03-01T10:00:00Z", "n": 1}\n{"time": "2024-03-01T11:00:00Z", "n": 2}\n'


class Given(Source):
    """Gives what a test has put into `GIVEN`."""

    type = "given"
    token: Secret | None = option("Token.", default=None)

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        return iter(())

    def open(self, artifact: Artifact) -> Any:
        return GIVEN()


GIVEN: Callable[[], Any] = lambda: None  # noqa: E731 - replaced by each test


def run(given: Callable[[], Any]) -> Run:
    global GIVEN
    GIVEN = given
    return Run(shared(task(b""), source=Given(name="given", token=Secret("s3cr3t-t0ken"))))


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]
        yield b""


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_pieces_of_bytes_are_read_as_a_stream_is(size: int, pack: Callable[[bytes], bytes]) -> None:
    made = run(lambda: pieces(pack(LINES), size))
    assert made.accounts == (2, 2, 0, 0, 0)
    assert made.rows == run(lambda: io.BytesIO(pack(LINES))).rows


def broken(error: Exception) -> Iterator[bytes]:
    yield LINES
    raise error


def fails(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: iter(["text"]), "open() of the source yielded a value of the type str, expected bytes"),
        (lambda: iter([None]), "open() of the source yielded None, expected bytes"),
        (lambda: iter([Event("k")]), "expected bytes (its author has to set yields_events = True)"),
        (lambda: None, "open() of the source returned None, expected a binary stream or a generator"),
        (lambda: b"bytes", "open() of the source returned a value of the type bytes, expected a binary stream"),
        (lambda: broken(KeyError("id")), "KeyError: 'id'"),
        (lambda: broken(ConnectionResetError("GET /?token=s3cr3t-t0ken")), "ConnectionResetError: GET /?token=•••"),
        (lambda: fails(ValueError("with s3cr3t-t0ken")), "ValueError: with •••"),
    ],
)
def test_a_source_that_fails_or_breaks_its_word_fails_the_artifact(given: Callable[[], Any], message: str) -> None:
    global GIVEN
    GIVEN = given
    one = shared(task(b""), source=Given(name="given", token=Secret("s3cr3t-t0ken")))
    with tempfile.TemporaryDirectory() as directory:
        (outcome,) = run_task(one.at(Staging(directory, "t0-a0")))
    (result,) = outcome.results
    assert result.error is not None
    assert message in result.error
    assert "s3cr3t" not in result.error
    assert not outcome.files
