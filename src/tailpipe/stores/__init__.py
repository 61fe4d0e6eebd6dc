"""Stores: the log of manifests outside the workspace, push, tiers, and reading what is not on this disk."""
