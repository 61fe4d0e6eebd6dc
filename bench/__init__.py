"""Measurements: figures for the terminal, never a test. Times are CPU seconds, and ratios within one run."""
