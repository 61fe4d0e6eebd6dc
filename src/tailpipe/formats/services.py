"""Formats of services: the logs of databases, and the journal of systemd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tailpipe.formats.options import encoding_option, timezone_option
from tailpipe.plugin import Format, UsageError, option

if TYPE_CHECKING:
    from tailpipe.plugin import DocumentParser, LineParser, ParseContext


def _check_layout(layout: str) -> None:
    from tailpipe.formats.postgresql_parser import prefix_pattern

    try:
        prefix_pattern(layout)
    except ValueError as problem:
        raise UsageError(str(problem), hint="write it as log_line_prefix in postgresql.conf") from None


class PostgresqlLog(Format):
    """PostgreSQL logs as `stderr`, `csvlog` or `jsonlog`, detected per row."""

    type = "postgresql_log"
    layout: str | None = option(
        "`log_line_prefix` of the server, such as `%t [%p] %q%u@%d `, for `stderr`; usual ones are recognised without.",
        default=None,
        check=_check_layout,
        is_verbatim=True,
    )
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    @property
    def event_start(self) -> str | None:
        """A line with a severity, and not one of the details of the message before."""
        from tailpipe.formats.postgresql_parser import start_pattern

        return start_pattern(self.layout)

    def parser(self, context: ParseContext) -> LineParser:  # noqa: ARG002
        """A parser of messages with their details."""
        from tailpipe.formats.postgresql_parser import PostgresqlEvents
        from tailpipe.plugin import line_parser

        return line_parser(PostgresqlEvents(self.layout, has_zone=self.timezone is not None).event)


class MysqlSlowLog(Format):
    """The slow query log of MySQL, MariaDB and Percona Server."""

    type = "mysql_slow_log"
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    @property
    def event_start(self) -> str | None:
        """The first comment of an entry."""
        from tailpipe.formats.mysql_slow_parser import START

        return START

    def parser(self, context: ParseContext) -> LineParser:  # noqa: ARG002
        """A parser that remembers the last time, which entries of the same second leave out."""
        from tailpipe.formats.mysql_slow_parser import slow_log_parser

        return slow_log_parser()


class Journald(Format):
    """Entries of systemd's journal, as `journalctl -o json` or `-o export` prints them."""

    type = "journald"
    noun = "entry"

    @property
    def encoding(self) -> str | None:
        """Values may be binary."""
        return None

    def parser(self, context: ParseContext) -> DocumentParser:  # noqa: ARG002
        """A parser of whole files."""
        from tailpipe.formats.journald_parser import journal_entries
        from tailpipe.plugin.functions import document_parser

        return document_parser(journal_entries)


JOURNALD = Journald(name="default", description="Entries of systemd's journal, as JSON or in the export format.")
MYSQL_SLOW_LOG = MysqlSlowLog(name="default", description="The slow query log of MySQL, MariaDB and Percona Server.")
POSTGRESQL_LOG = PostgresqlLog(name="default", description="PostgreSQL's log, as `stderr`, `csvlog` or `jsonlog`.")
