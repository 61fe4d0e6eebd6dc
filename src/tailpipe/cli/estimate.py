"""How long a run will still take: by the bytes that were read, smoothed, and only once that says something."""

from __future__ import annotations

from dataclasses import dataclass

_LEAST_SECONDS = 3.0
_LEAST_SHARE = 0.05
"""No estimate before so much time and so much of the work."""
_SLOWEST, _FASTEST = 0.1, 0.6
_FULL_SHARE = 0.1
"""How far the estimate follows what is new: by the share of the work that was done since the last time."""


@dataclass
class Estimate:
    """The time left of a run. The first bytes count as the beginning: they have waited for Spark to start."""

    total: int
    _done: int = 0
    _begun: float | None = None
    _first: int = 0
    _end: float | None = None

    def advance(self, done: int, now: float) -> None:
        """So many bytes are done at this moment; fewer than before count as nothing new."""
        if done <= self._done:
            return
        new, self._done = done - self._done, done
        if self._begun is None:
            self._begun, self._first = now, done
            return
        passed, read = now - self._begun, done - self._first
        if passed < _LEAST_SECONDS or read < _LEAST_SHARE * self.total:
            return
        end = now + (self.total - done) * passed / read
        if self._end is None:
            self._end = end
        else:  # bytes come in lumps, one for each task: a small one says little
            weight = min(max(new / (_FULL_SHARE * self.total) * _FASTEST, _SLOWEST), _FASTEST)
            self._end += weight * (end - self._end)

    def seconds_left(self, now: float) -> float | None:
        """The estimate; None if there is none yet, or if it is over."""
        return self._end - now if self._end is not None and self._end - now >= 1 else None
