"""Envelopes: lines that a source has put around the events of an API, and the messages in them.

An envelope is a line of JSON, made by the source and not by whoever logged:

    {"event_id": "37…", "timestamp": 1709287200123, "ingestion_time": 1709287200456,
     "log_group": "/aws/x", "log_stream": "a", "message": "…"}

The format that is asked for reads the message as if it were the line, or the record. What else is in the
envelope is there beside the fields of the format, as text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from tailpipe.kernel.batch import LineParser, Lines, Parsed
from tailpipe.kernel.outputs import COMMON_TYPES, Output
from tailpipe.kernel.runs import places_of
from tailpipe.kernel.sql import quoted

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ENVELOPE_FIELDS", "EnvelopeParser", "envelope_outputs"]

ENVELOPE_FIELDS = ("_event_id", "_event_time", "_ingestion_time", "_log_group", "_log_stream", "_message")
"""The fields beside those of the format; they win over fields of the same name."""

_SCHEMA = pa.schema(
    [
        ("event_id", pa.string()),
        ("timestamp", pa.int64()),
        ("ingestion_time", pa.int64()),
        ("log_group", pa.string()),
        ("log_stream", pa.string()),
        ("message", pa.string()),
    ]
)
_ESCAPED = r'^\s*(\{\s*\\"|")'
"""How a JSON object begins that was put into a string once more, with the quotes of the string or without."""


def envelope_outputs(outputs: Sequence[Output], prefix: str) -> tuple[Output, ...]:
    """What an envelope adds to the columns of a table; `prefix` is SQL for the beginning of each row's `tp_id`.

    A row is known by its event, not by its place: the same event gets the same id however often it is asked for.
    """
    taken = {output.name for output in outputs}
    made = (
        Output("tp_id", COMMON_TYPES["tp_id"], transform=f"{prefix} || '-' || md5(_event_id)"),
        Output("tp_source_location", COMMON_TYPES["tp_source_location"], "_log_stream"),
    )
    return (*outputs, *(output for output in made if output.name not in taken))


@dataclass(frozen=True)
class EnvelopeParser:
    """Takes the envelopes off and has the messages parsed; a blank message is no row."""

    inner: LineParser
    is_json: bool

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The fields of all messages, and those of their envelopes."""
        messages, envelopes = [], []
        for run in runs:
            opened, is_there = self._open(run.text)
            if not is_there.all():
                run = replace(run, ordinals=run.ordinals[is_there])
                opened = opened.filter(pa.array(is_there))
            messages.append(Lines(opened["_message"].combine_chunks(), run.ordinals, run.artifact))
            envelopes.append(opened)
        parsed = self.inner.parse(messages)
        table = pa.concat_tables(envelopes)
        for name, column in places_of(messages).items():
            table = table.append_column(name, column)
        hidden = [quoted(name) for name in parsed.fields if name.lower() in ENVELOPE_FIELDS]
        left_out = f" EXCLUDE ({', '.join(hidden)})" if hidden else ""
        added = ", ".join(f"envelopes.{name}" for name in ENVELOPE_FIELDS)
        # Each has its envelope. A left join keeps the order of the rows, and is a hash join without an optimizer.
        joined = f"({parsed.sql}) AS inside LEFT JOIN envelopes USING (_artifact, _ordinal)"
        sql = f"SELECT inside.*{left_out}, {added} FROM {joined}"
        fields = {name: kind for name, kind in parsed.fields.items() if name.lower() not in ENVELOPE_FIELDS}
        fields |= dict.fromkeys(ENVELOPE_FIELDS, "VARCHAR")
        return replace(parsed, sql=sql, tables={**parsed.tables, "envelopes": table}, fields=fields)

    def _open(self, lines: pa.Array) -> tuple[pa.Table, np.ndarray]:
        """What is in the envelopes, by the names of the fields, and whether there is a message."""
        data = "\n".join(lines.to_pylist()).encode()
        read = pj.read_json(
            pa.BufferReader(data),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=pj.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="ignore"),
        )
        message = pc.utf8_rtrim(pc.fill_null(read["message"].combine_chunks(), ""), "\r\n")
        is_there = pc.not_equal(pc.utf8_trim_whitespace(message), "").to_numpy(zero_copy_only=False)
        if self.is_json:
            message = _unescaped(message)
        columns = [
            read["event_id"],
            _moment(read["timestamp"]),
            _moment(read["ingestion_time"]),
            read["log_group"],
            read["log_stream"],
            message,
        ]
        return pa.table(columns, names=list(ENVELOPE_FIELDS)), is_there


def _moment(milliseconds: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.strftime(milliseconds.cast(pa.timestamp("ms")), format="%Y-%m-%dT%H:%M:%SZ")


def _unescaped(messages: pa.Array) -> pa.Array:
    """The objects that were escaped once more; any other message as it is."""
    is_escaped = pc.match_substring_regex(messages, _ESCAPED)
    if not pc.any(is_escaped).as_py():
        return messages
    mended = [_object_in(text) for text in messages.filter(is_escaped).to_pylist()]
    return pc.replace_with_mask(messages, is_escaped, pa.array(mended, pa.string()))


def _object_in(text: str) -> str:
    try:
        inside = json.loads(text if text.lstrip().startswith('"') else f'"{text}"', strict=False)
    except ValueError:
        return text
    return inside if isinstance(inside, str) else text
