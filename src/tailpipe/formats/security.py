"""Formats of logs about security: of sensors, audits and appliances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tailpipe.formats.options import encoding_option, timezone_option
from tailpipe.plugin import Format, fact

if TYPE_CHECKING:
    from tailpipe.plugin import DocumentParser, Joining, LineParser, ParseContext


class Auditd(Format):
    """The Linux audit log. The records of an event become one row, even if events are interleaved."""

    type = "auditd"
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    @property
    def joining(self) -> Joining:
        """By time and serial number."""
        from tailpipe.formats.auditd_parser import JOINING

        return JOINING

    def parser(self, context: ParseContext) -> LineParser:  # noqa: ARG002
        """A parser of events."""
        from tailpipe.formats.auditd_parser import audit_event
        from tailpipe.plugin import line_parser

        return line_parser(audit_event)


class Cef(Format):
    """Events in the Common Event Format (CEF) of ArcSight, with a syslog header or without."""

    type = "cef"
    has_times_without_year = True
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    def parser(self, context: ParseContext) -> LineParser:  # noqa: ARG002
        """A parser of one event in each line."""
        from tailpipe.formats.event_formats import cef_event
        from tailpipe.plugin import line_parser

        return line_parser(cef_event)


class Evtx(Format):
    """Windows event logs: the files `*.evtx`, which need the extra `tailpipe[evtx]`, or the same events as JSON."""

    type = "evtx"
    noun = "event"

    @property
    def encoding(self) -> str | None:
        """It is no text."""
        return None

    def parser(self, context: ParseContext) -> DocumentParser:  # noqa: ARG002
        """A parser of whole files."""
        from tailpipe.formats.evtx_parser import EvtxParser

        return EvtxParser()


class Leef(Format):
    """Events in the Log Event Extended Format (LEEF) of QRadar, version 1.0 or 2.0, with a syslog header or without."""

    type = "leef"
    has_times_without_year = True
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    def parser(self, context: ParseContext) -> LineParser:  # noqa: ARG002
        """A parser of one event in each line."""
        from tailpipe.formats.event_formats import leef_event
        from tailpipe.plugin import line_parser

        return line_parser(leef_event)


class Zeek(Format):
    """Zeek logs, as tab-separated values with a header or as JSON."""

    type = "zeek"
    header_prefix: str | None = fact("What a line of the header begins with.", default="#")
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    def parser(self, context: ParseContext) -> LineParser:  # noqa: ARG002
        """A parser that remembers the header of each artifact."""
        from tailpipe.formats.zeek_parser import zeek_parser

        return zeek_parser()


AUDITD = Auditd(name="default", description="The Linux audit log, one row for each event.")
CEF = Cef(name="default", description="Events in the Common Event Format of ArcSight.")
EVTX = Evtx(name="default", description="Windows event logs, as binary files or as JSON.")
LEEF = Leef(name="default", description="Events in the Log Event Extended Format of QRadar.")
ZEEK = Zeek(name="default", description="Zeek's logs, as tab-separated values or as JSON.")
