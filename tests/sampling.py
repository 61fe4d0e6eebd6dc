"""Samples: of many cases of one kind some run with the quick tests, and all of them with the slow ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def campaign(cases: Iterable[Any], every: int) -> list[Any]:
    """Each case as a parameter; all but the first of every so many run only with `make soak`."""
    marks = [pytest.mark.soak]
    return [pytest.param(case, marks=marks if number % every else []) for number, case in enumerate(cases)]


def sampled(cases: Iterable[Any], every: int) -> list[Any]:
    """Each case as a parameter; all but the first of every so many are slow. A tuple is a case of several values."""
    found = []
    for number, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        found.append(pytest.param(*values, marks=[pytest.mark.slow] if number % every else []))
    return found
