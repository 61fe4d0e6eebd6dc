"""`python -m tailpipe` is `tailpipe`."""

from tailpipe.cli import main

main()
