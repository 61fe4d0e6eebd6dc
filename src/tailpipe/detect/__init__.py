"""Detections over new rows: evaluation, hits exactly once, and alerts at least once."""
