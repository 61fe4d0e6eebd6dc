"""The detections of a workspace: those of the config, of plugins and of Sigma rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

from tailpipe.config.config import Config
from tailpipe.config.detections import find_detection, is_in_set
from tailpipe.errors import PluginError, UsageError
from tailpipe.model.detection import SEVERITIES, Detection

if TYPE_CHECKING:
    from tailpipe.model.table import Table
    from tailpipe.plugin.registry import Registry


class Detections:
    """The detections that a workspace knows; one that cannot be used is skipped with a warning."""

    def __init__(
        self, config: Config, tables: Mapping[str, Table], registry: Registry, warn: Callable[[str], None]
    ) -> None:
        self._config = config
        self._tables = tables
        self._registry = registry
        self._warn = warn

    @cached_property
    def enabled(self) -> Mapping[str, Detection]:
        """The detections that run, by name: those of the config, and those of plugins that a set chooses.

        One of the config hides one of a plugin. A detection in several sets is sent to the notifiers of all of them.
        """
        own, found = self._config.detections, dict[str, Detection]()
        for chosen in self._config.detection_sets.values():
            for name, shipped in self._shipped.items():
                if name in own or not is_in_set(chosen, name):
                    continue
                one = found.get(name) or shipped
                if SEVERITIES.index(one.severity) >= SEVERITIES.index(chosen.min_severity):
                    found[name] = replace(one, notify=tuple(dict.fromkeys((*one.notify, *chosen.notify))))
        return {**self._sigma, **own, **found}

    @cached_property
    def known(self) -> Mapping[str, Detection]:
        """All detections, those of plugins that do not run too."""
        return {**self._shipped, **self.enabled}

    @cached_property
    def _sigma(self) -> Mapping[str, Detection]:
        found: dict[str, Detection] = {}
        for rules in self._config.sigma.values():
            from tailpipe.detect.sigma import load_sigma

            found |= load_sigma(rules, self._tables[rules.table], self._warn)
        return found

    @cached_property
    def _shipped(self) -> Mapping[str, Detection]:
        found = {}
        for name in self._registry.detections:
            try:
                found[name] = self._registry.detections[name]
            except PluginError as error:
                self._warn(error.message)
        return found


def select_detections(names: Sequence[str], known: Mapping[str, Detection]) -> list[Detection]:
    """The detections of these names and patterns, each once; all without any."""
    if not names:
        return list(known.values())
    found: dict[str, Detection] = {}
    for name in names:
        if not any(sign in name for sign in "*?["):
            found[name] = find_detection(name, known)
            continue
        matching = {one: known[one] for one in sorted(known) if fnmatchcase(one, name)}
        if not matching:
            raise UsageError(f'no detection matches "{name}"', hint="see: tailpipe detection list")
        found |= matching
    return list(found.values())
