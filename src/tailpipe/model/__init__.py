"""The nouns: frozen dataclasses on the standard library alone, without I/O and without a clock."""
