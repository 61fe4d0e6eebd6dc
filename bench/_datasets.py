"""The logs that jobs collect: each data set is written once into a cache directory and used again."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path

from bench import _cloudtrail, _nginx

__all__ = ["cloudtrail", "lines", "nginx", "partitions"]

_VERSION = 2
"""Raised with every change of the generators, so that old files are not used for new ones."""
_SEED = 1
_DAY_MINUTES = 24 * 60
_POOL_TASKS = 8


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


def lines(cache: Path, rows: int, days: int) -> Path:
    """A file of JSON lines for each day, with four fields beside the time."""

    def work(draft: Path) -> Iterator[Callable[[], object]]:
        for number in range(days):
            yield partial(_write_lines, draft, number, rows // days)

    return _written(cache / f"lines-{rows}-{days}-v{_VERSION}", work)


def _write_lines(directory: Path, number: int, rows: int) -> None:
    day = _cloudtrail.FIRST + timedelta(days=number)
    bits = random.Random(f"{_SEED}/{number}").getrandbits
    found = []
    for row in range(rows):
        at, value = row * 86_400 // rows, bits(32)
        time = f"{day}T{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}Z"
        found.append(
            f'{{"time":"{time}","a":{value},"b":"/page/{value % 977}","c":{value % 9973 / 8},'
            f'"d":{"true" if value & 1 else "false"}}}\n'
        )
    (directory / f"{day}.jsonl").write_text("".join(found))


def _written(target: Path, work: Callable[[Path], Iterator[Callable[[], object]]]) -> Path:
    """The directory of a data set; it gets its name when all of it is written."""
    if target.is_dir():
        return target
    draft = target.with_name(f"draft-{os.getpid()}-{target.name}")
    draft.mkdir(parents=True)
    try:
        _run_all(list(work(draft)))
        draft.rename(target)
    except OSError:
        if not target.is_dir():  # another process was faster
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def _run_all(tasks: list[Callable[[], object]]) -> None:
    """Run them on all cores, or here if they are few: to start a process takes as long as some files."""
    if len(tasks) < _POOL_TASKS:
        for task in tasks:
            task()
        return
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()
