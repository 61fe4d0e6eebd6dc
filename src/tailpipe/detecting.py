"""The verbs of detections: run them over new rows or a window, try them on their events, deliver alerts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

from tailpipe.config.detections import chosen_detections, find_detection
from tailpipe.data import Data
from tailpipe.errors import PluginError, UsageError
from tailpipe.model.detection import Detection
from tailpipe.model.window import Window

if TYPE_CHECKING:  # each verb loads what it needs, so that none waits for the others
    from tailpipe.detect.acknowledge import Acknowledged
    from tailpipe.detect.deliver import Delivered
    from tailpipe.detect.outbox import Alert
    from tailpipe.detect.run import Run
    from tailpipe.detect.trial import Case
    from tailpipe.plugin.registry import Registry
    from tailpipe.sql.attempt import Attempt

__all__ = ["Detecting"]


class Detecting:
    """The detections of a workspace; one method for each verb."""

    def __init__(self, data: Data, registry: Registry) -> None:
        self.data = data
        self._registry = registry

    @cached_property
    def chosen(self) -> Mapping[str, Detection]:
        """The detections that run, by name."""
        config = self.data.config
        shipped = self._shipped if config.detection_sets else {}
        chosen = chosen_detections(config.detections, config.detection_sets, shipped)
        return {**self._sigma, **chosen}

    @cached_property
    def _sigma(self) -> Mapping[str, Detection]:
        """The detections of Sigma rules; a rule that cannot be used is left out with a warning."""
        found: dict[str, Detection] = {}
        for rules in self.data.config.sigma.values():
            from tailpipe.detect.sigma import load_sigma

            found |= load_sigma(rules, self.data.tables[rules.table], lambda line: self.data.say(f"warning: {line}"))
        return found

    @cached_property
    def _shipped(self) -> Mapping[str, Detection]:
        """The detections of plugins; one that cannot be read is left out with a warning."""
        found = {}
        for name in self._registry.detections:
            try:
                found[name] = self._registry.detections[name]
            except PluginError as error:
                self.data.say(f"warning: {error.message}")
        return found

    @cached_property
    def known(self) -> Mapping[str, Detection]:
        """All detections, those of plugins that do not run too."""
        return {**self._shipped, **self.chosen}

    def select(self, names: Sequence[str], known: Mapping[str, Detection]) -> list[Detection]:
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

    def detect(
        self,
        names: Sequence[str] = (),
        window: Window | None = None,
        *,
        dry_run: bool = False,
        with_alerts: bool | None = None,
        attempt: Attempt | None = None,
    ) -> Run:
        """Run all detections, or some, over rows that are new since the last run of all, or over a window.

        Hits of a window are stored and not sent, unless `with_alerts`. `attempt` notes which detection is evaluated.
        """
        from tailpipe.detect.run import Request, Run

        chosen = self.select(names, self.chosen)
        alerts = window is None if with_alerts is None else with_alerts
        request = Request(datetime.now(UTC), bool(names), window, dry_run, alerts, attempt)
        with self.data.catalog(is_read_only=dry_run and self.data.begun() is not None) as catalog:
            return self.data.followed(Run(catalog, self.data.tables, chosen, request).run(), dry_run)

    def begin(self) -> None:
        """Note where detections begin, if they were never run: what is collected from now on is new to them."""
        from tailpipe.detect.run import begin_detecting

        with self.data.catalog() as catalog:
            begin_detecting(catalog, datetime.now(UTC))

    def deliver(self, *, retry: bool = False) -> Delivered:
        """Send the alerts that are due, or all that wait and were given up."""
        from tailpipe.detect.deliver import deliver

        notifiers = {one.address: one for one in self.data.config.notifiers.values()}
        with self.data.catalog() as catalog:
            return deliver(catalog, notifiers, lambda: datetime.now(UTC), retry=retry)

    def waiting(self) -> list[Alert]:
        """The alerts that wait or were given up."""
        from tailpipe.detect.deliver import waiting

        return self.data.read(waiting, [])

    def acknowledged(self) -> Mapping[str, Acknowledged]:
        """The hits that were acknowledged, by id."""
        from tailpipe.detect.acknowledge import acknowledged

        return self.data.read(acknowledged, {})

    def acknowledge(self, hits: Collection[str], mark: Acknowledged | None) -> int:
        """Acknowledge hits, or take that back without a mark; how many of them were changed."""
        from tailpipe.detect.acknowledge import acknowledge

        with self.data.catalog() as catalog:
            return acknowledge(catalog, hits, mark)

    def test(self, detection: Detection) -> list[Case]:
        """Try a detection on the events beside it; nothing is read or written."""
        from tailpipe.detect.trial import try_detection

        table, files = self.data.tables[detection.table], self._registry.sources["file"]
        return try_detection(detection, table, files, datetime.now(UTC))
