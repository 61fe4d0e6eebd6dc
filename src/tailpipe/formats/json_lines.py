"""JSON lines: one object in each line."""

from __future__ import annotations

from collections.abc import Sequence

from tailpipe.formats.json_fields import JsonFields
from tailpipe.frozen import frozen
from tailpipe.plugin import Lines, Parsed
from tailpipe.plugin.arrow import line_table


@frozen
class JsonLines:
    """Takes the fields out of lines that are JSON objects; any other line is bad."""

    fields: JsonFields
    noun: str = "line"
    prefixed: bool = False
    """Whether text may stand before the object."""

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The fields of all the lines."""
        table = line_table(runs)
        line = "substr(_line, greatest(1, strpos(_line, '{')))" if self.prefixed else "_line"
        records = f"SELECT _artifact, _ordinal, {line} AS _raw FROM lines"
        # An object begins with a brace; only what does not is worth a closer look. CASE alone does not keep a
        # function from a row: DuckDB computes what stands there twice beforehand, for all rows.
        kind = "TRY(json_type(_raw))"
        words = "WHEN 'VARCHAR' THEN 'string' WHEN 'ARRAY' THEN 'array' WHEN 'BOOLEAN' THEN 'boolean' ELSE 'number'"
        bad = (
            f"CASE WHEN _r IS NULL AND json_valid(_raw) THEN 'the {self.noun} is a JSON null, not an object'"
            f" WHEN _r IS NULL THEN 'the {self.noun} is not JSON'"
            f" WHEN NOT starts_with(_raw, '{{') AND {kind} <> 'OBJECT'"
            f" THEN 'the {self.noun} is a JSON ' || CASE {kind} {words} END || ', not an object' END"
        )
        shape_misfits, misfits = self.fields.misfits("_r", "_raw")
        parsed = records
        for columns_ in self.fields.reading("_raw", "_r", "_keys"):
            parsed = f"SELECT *, {', '.join(columns_)} FROM ({parsed})"
        columns = self.fields.columns("_raw", "_r", "_keys")
        sql = f"SELECT _artifact, _ordinal, {bad} AS _bad, _raw{columns}{shape_misfits} FROM ({parsed})"
        return Parsed(sql, {"lines": table}, self.fields.types, table.num_rows, misfits, records)
