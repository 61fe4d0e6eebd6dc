"""`python -m bench [NAME…] [OPTION…]`: run all measurements that take minutes at most, or those that are named."""

from __future__ import annotations

import sys
from importlib import import_module
from itertools import takewhile
from pathlib import Path

LONG = {"cluster", "fixed", "growth"}
"""They run when they are named only."""


def main() -> None:
    here = Path(__file__).parent
    known = sorted(path.stem for path in here.glob("*.py") if not path.stem.startswith("_"))
    names = list(takewhile(lambda text: not text.startswith("-"), sys.argv[1:]))
    options = sys.argv[1 + len(names) :]
    if options and len(names) != 1:
        sys.exit("options need the name of one measurement before them: python -m bench fixed --runs 3")
    for name in names or [name for name in known if name not in LONG]:
        if name not in known:
            sys.exit(f"there is no measurement {name!r}; there are: {', '.join(known)}")
        print(f"\n== {name}")
        run = import_module(f"bench.{name}").main
        if options and not run.__code__.co_argcount:
            sys.exit(f"{name} has no options")
        run(*[options] if options else ())


if __name__ == "__main__":  # processes that write data sets import it again
    main()
