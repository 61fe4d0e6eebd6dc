"""Collects logs from where they lie, turns each kind into a typed table, and answers SQL over them."""

__version__ = "0.1.0"
