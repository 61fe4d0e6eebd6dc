"""Audit events of Beacon, collected from its HTTP API: pages, rate limits, and one row for each event."""

import json
from collections.abc import Iterator
from datetime import datetime
from urllib.request import Request, urlopen

from tailpipe import plugin as tp

RETRY = tp.Retry(retries=5, longest_pause=30, time_limit=300)  # obeys Retry-After


class Sentence(tp.Format):
    """Who did what, as Beacon writes it: `ada: login`."""

    type = "beacon_sentence"

    def parser(self, context: tp.ParseContext) -> tp.LineParser:
        return tp.line_parser(lambda line: dict(zip(("actor", "action"), line.split(": "), strict=True)))


class Beacon(tp.Connection):
    """The service Beacon."""

    type = "beacon"
    url: str = tp.option("Address of the service.", default="https://api.beacon.example")
    token: tp.Secret = tp.option("Token to log in with.", default=tp.Secret(""))


class BeaconAudit(tp.Source):
    """Requests the audit events of each day, page by page."""

    type = "beacon_audit"
    yields_events = True
    connection: Beacon = tp.option("How to log in.")

    def artifacts(self, window: tp.Window) -> Iterator[tp.Artifact]:
        return (tp.Artifact(f"{self.connection.url}/{day}", day=day, kind="range") for day in window.days())

    def open(self, artifact: tp.Artifact) -> Iterator[tp.Event]:
        for page in tp.pages_by_token(lambda token: self._page(artifact, token), lambda page: page.get("next")):
            yield from (tp.Event(one["id"], datetime.fromisoformat(one["time"]), one["text"]) for one in page["events"])

    def _page(self, artifact: tp.Artifact, token: str | None) -> dict:
        url = f"{self.connection.url}/audit?day={artifact.day}" + (f"&after={token}" if token else "")
        request = Request(url, headers={"Authorization": f"Bearer {self.connection.token.reveal()}"})
        limit = tp.RequestLimit(self.connection.url, parallel=4, per_second=10)  # over all tasks on this host
        return RETRY.call(lambda: json.load(urlopen(request, timeout=60)), limit=limit)


class BeaconEvent(tp.Table):
    """One row for each audit event."""

    name = "beacon_event"
    format = Sentence()
    columns = [tp.Column("actor", "varchar", "Who did it."), tp.Column("action", "varchar", "What was done.")]
    common = {"tp_timestamp": "_event_time", "tp_usernames": "[actor]"}


plugin = tp.Plugin("beacon", "Audit events of Beacon.", [BeaconEvent], [BeaconAudit], [Sentence], connections=[Beacon])
