"""Declarations as another package would write them: no names of tailpipe's own modules are imported here."""

from tailpipe import plugin as tp

COMBINED_COLUMNS = [tp.Column("remote_addr", "varchar", "Address of the client.")]
COMMON = {"tp_timestamp": "now()"}


class Plain(tp.Format):
    """Lines as they are."""

    type = "plain"
    description = "Nothing is changed."


class Inherited(tp.Source):
    """Gives nothing."""

    type = "inherited"
    format = Plain()

    def artifacts(self, window: tp.Window):  # type: ignore[no-untyped-def]
        yield from ()

    def open(self, artifact: tp.Artifact):  # type: ignore[no-untyped-def]
        raise NotImplementedError


class AccessLog(tp.Table):
    """One row for each request."""

    name = "foreign_access_log"
    format = Plain(name="mine")
    columns = COMBINED_COLUMNS
    common = COMMON
