"""Files that grow, rotate, are packed, come late, are cut and deleted: what is collected equals a plain model."""

from __future__ import annotations

import gzip
import os
import tarfile
import tempfile
from datetime import date, timedelta
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tailpipe.model.ledger import TAIL_BYTES
from tests.examples import examples
from tests.unit.collect.support import NOW, World

DAYS = [NOW.date() - timedelta(days=count) for count in range(4)]


class Collecting(RuleBasedStateMachine):
    """Every line is unique; the model is the set of lines that a collect has had the chance to see."""

    @initialize()
    def begin(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.world = World(Path(self.directory.name))
        self.lines = 0
        self.there: dict[Path, list[str]] = {}
        self.collected: set[str] = set()
        self.rotated = 0

    def teardown(self) -> None:
        self.directory.cleanup()

    def fresh(self, count: int, padding: int = 0) -> list[str]:
        self.lines += count
        return [f"line {number} {'.' * padding}" for number in range(self.lines - count, self.lines)]

    @rule(day=st.sampled_from(DAYS), count=st.integers(1, 3), padding=st.sampled_from([0, TAIL_BYTES // 2]))
    def append(self, day: date, count: int, padding: int) -> None:
        lines = self.fresh(count, padding)
        path = self.world.write(f"{day}.jsonl", *lines, mode="a")
        self.there.setdefault(path, []).extend(lines)

    @rule(day=st.sampled_from(DAYS), count=st.integers(1, 2))
    def add_late_file(self, day: date, count: int) -> None:
        self.rotated += 1
        lines = self.fresh(count)
        path = self.world.write(f"{day}-late{self.rotated}.jsonl", *lines)
        self.there[path] = lines

    @rule(day=st.sampled_from(DAYS), counts=st.lists(st.integers(0, 3), min_size=2, max_size=3))
    def add_archive(self, day: date, counts: list[int]) -> None:
        self.rotated += 1
        path = self.world.logs / f"{day}-{self.rotated}.tar"
        self.there[path] = []
        with tarfile.open(path, "w") as archive:
            for number, count in enumerate(counts):
                lines = self.fresh(count)
                member = self.world.write(f"{day}-member.jsonl", *lines)
                archive.add(member, f"{number}.jsonl")
                member.unlink()
                self.there[path] += lines

    @precondition(lambda self: self.there)
    @rule(data=st.data())
    def touch(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.there)))
        now = path.stat().st_mtime
        os.utime(path, (now + 10, now + 10))

    @precondition(lambda self: self.there)
    @rule(data=st.data(), packed=st.booleans())
    def rotate(self, data: st.DataObject, packed: bool) -> None:
        path = data.draw(st.sampled_from(sorted(self.there)))
        if path.suffix == ".gz":
            return
        self.rotated += 1
        target = path.with_name(f"{path.name}.{self.rotated}" + (".gz" if packed else ""))
        if packed:
            target.write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        else:
            path.rename(target)
        self.there[target] = self.there.pop(path)

    @precondition(lambda self: self.there)
    @rule(data=st.data())
    def delete_after_collecting(self, data: st.DataObject) -> None:
        self.collect()
        path = data.draw(st.sampled_from(sorted(self.there)))
        path.unlink()
        del self.there[path]

    @precondition(lambda self: self.there)
    @rule(data=st.data())
    def truncate_after_collecting(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.there)))
        if path.suffix == ".gz" or ".tar" in path.suffixes:
            return
        self.collect()
        lines = self.fresh(1)
        path.write_text("")
        day = date.fromisoformat(path.name[:10])
        self.world.write(path.name, *lines, day=day)
        self.there[path] = lines

    @rule()
    def collect(self) -> None:
        summary = self.world.collect()
        assert summary.is_done, summary
        self.collected |= {line for lines in self.there.values() for line in lines}

    @rule()
    def overwrite(self) -> None:
        assert self.world.collect(overwrite=True).is_done
        self.collected |= {line for lines in self.there.values() for line in lines}

    @invariant()
    def what_is_collected_is_there_once(self) -> None:
        if self.collected:
            assert self.world.rows() == sorted(self.collected)
            assert not self.world.has_twins()


TestCollecting = Collecting.TestCase
TestCollecting.settings = settings(
    max_examples=examples(20), stateful_step_count=14, deadline=None, suppress_health_check=list(HealthCheck)
)
