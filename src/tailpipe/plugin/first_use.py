"""Names of a package that are imported on first use."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any

__all__ = ["import_name"]


def import_name(package: dict[str, Any], places: Mapping[str, Collection[str]], name: str) -> Any:
    """Import a name into a package, given its globals and the names by module; for the `__getattr__` of the package."""
    for module, names in places.items():
        if name in names:
            found = package[name] = getattr(import_module(module), name)
            return found
    raise AttributeError(f'module "{package["__name__"]}" has no attribute "{name}"')
