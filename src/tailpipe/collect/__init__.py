"""Collect: list, plan, run, commit and report; day by day, each queryable as soon as it is there."""
