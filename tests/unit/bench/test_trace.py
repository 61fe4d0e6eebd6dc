import pytest
from bench.trace import BUDGETS, trace


@pytest.mark.parametrize("way", BUDGETS)
def test_a_row_passes_no_more_functions_than_its_way_may(way: str) -> None:
    assert len(trace(way)) <= BUDGETS[way], f"see: python -m bench.trace {way} --list"
