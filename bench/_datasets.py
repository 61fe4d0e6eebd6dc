"""The logs that jobs collect: each data set is written once into a cache directory and used again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path

from bench import _cloudtrail, _nginx

__all__ = ["cloudtrail", "nginx", "partitions"]

_VERSION = 2
"""Raised with every change of the generators, so that old files are not used for new ones."""
_SEED = 1
_DAY_MINUTES = 24 * 60


def cloudtrail(cache: Path, rows: int, files: int, days: int) -> Path:
    """CloudTrail files as they are delivered to a bucket, spread evenly over the days."""

    def work(draft: Path) -> Iterator[Callable[[], object]]:
        for number in range(files):
            day = number * days // files
            first, after = -(-day * files // days), -(-(day + 1) * files // days)
            minute = 10 + (number - first) * (_DAY_MINUTES - 10) // max(1, after - first)
            count = (number + 1) * rows // files - number * rows // files
            date = _cloudtrail.FIRST + timedelta(days=day)
            yield partial(_cloudtrail.write_file, draft, number, count, date, minute, _SEED)

    return _written(cache / f"cloudtrail-{rows}-{files}-{days}-v{_VERSION}", work)


def partitions(cache: Path, count: int, rows: int) -> Path:
    """A directory for each partition, with one CloudTrail file."""

    def work(draft: Path) -> Iterator[Callable[[], object]]:
        for number in range(count):
            root = draft / f"p{number:03d}"
            yield partial(_cloudtrail.write_file, root, number, rows, _cloudtrail.FIRST, 10 + number, _SEED)

    return _written(cache / f"partitions-{count}-{rows}-v{_VERSION}", work)


def nginx(cache: Path, lines: int, files: int, days: int) -> Path:
    """Undated text files of nginx lines; each goes on where the one before it ended."""

    def work(draft: Path) -> Iterator[Callable[[], object]]:
        seconds = days * 86_400 / files
        for number in range(files):
            path = draft / f"access-{number}.log"
            yield partial(_nginx.write_file, path, number * seconds, seconds, lines // files, _SEED)

    return _written(cache / f"nginx-{lines}-{files}-{days}-v{_VERSION}", work)


def _written(target: Path, work: Callable[[Path], Iterator[Callable[[], object]]]) -> Path:
    """The directory of a data set; it gets its name when all of it is written."""
    if target.is_dir():
        return target
    draft = target.with_name(f"draft-{os.getpid()}-{target.name}")
    draft.mkdir(parents=True)
    try:
        with ProcessPoolExecutor() as pool:
            for future in [pool.submit(one) for one in work(draft)]:
                future.result()
        draft.rename(target)
    except OSError:
        if not target.is_dir():  # another process was faster
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target
