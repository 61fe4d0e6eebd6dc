"""Collecting continuously: a loop over partitions, wake-ups by file changes, health and metrics."""
