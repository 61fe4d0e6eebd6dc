"""`python -m bench [NAME…]`: run all measurements, or those that are named."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    here = Path(__file__).parent
    known = sorted(path.stem for path in here.glob("*.py") if not path.stem.startswith("_"))
    for name in sys.argv[1:] or known:
        if name not in known:
            sys.exit(f"there is no measurement {name!r}; there are: {', '.join(known)}")
        print(f"\n== {name}")
        import_module(f"bench.{name}").main()


main()
