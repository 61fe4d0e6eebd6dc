"""The kernel: bytes become rows, whole columns at a time, and every row is accounted for.

    task.py      what is asked for, and what comes back         run.py       one task from beginning to end
    intake.py    artifacts opened and unpacked                  *_feed.py    each kind of format as batches
    shape.py     fields → columns, as SQL                       row_buffer.py  DuckDB for one task
    through.py   rows that are all alike, straight to a file    stage.py     files on disk for good
    sample.py    types that nobody declared                     check.py     SQL texts before a run
    evolve.py    a changed table beside its files

It knows no Spark and no catalog.
"""
