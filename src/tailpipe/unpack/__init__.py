"""Unpacking: from the bytes of an artifact to decompressed members, text and lines."""
