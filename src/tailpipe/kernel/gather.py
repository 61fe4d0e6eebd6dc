"""Fields whose names are not known in advance, as one JSON object: `resource_tags_*`, or `*` for all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailpipe.sql.quoting import quoted


def gathered(name: str, fields: Iterable[str], wanted: Sequence[str]) -> str:
    """SQL for a field that was not read, but is referenced: null, unless its name ends with `*`.

    Then it is an object of the fields whose names begin like it, without that beginning, that have a value
    and are not `wanted` by themselves; each is in the object of the longest name. Null if there are none.
    """
    if not name.endswith("*"):
        return "NULL::VARCHAR"
    stems = sorted({one[:-1].lower() for one in wanted if one.endswith("*")}, key=len, reverse=True)
    taken = {one.lower() for one in wanted}
    inside = [
        field for field in fields if field.lower() not in taken and _stem(field.lower(), stems) == name[:-1].lower()
    ]
    if not inside:
        return "NULL::JSON"
    parts = ", ".join(f"{quoted(field[len(name) - 1 :])} := {quoted(field)}" for field in inside)
    # As a patch, it loses the keys that are null.
    return f"nullif(json_merge_patch('{{}}'::JSON, to_json(struct_pack({parts}))), '{{}}'::JSON)"


def _stem(field: str, stems: Sequence[str]) -> str | None:
    return next((stem for stem in stems if field.startswith(stem) and field != stem), None)
