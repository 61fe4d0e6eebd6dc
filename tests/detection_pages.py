"""The page of the shipped detections, made of their declarations: python -m tests.detection_pages writes it."""

from __future__ import annotations

from pathlib import Path

from tailpipe.model.detection import SEVERITIES, Detection
from tailpipe.plugin.registry import Registry

PAGE = Path(__file__).resolve().parents[1] / "docs" / "shipped-detections.md"
HEAD = """# Detections of the plugins

{count} detections come with tailpipe. They run once a [`detections` block](detections.md#detections-of-plugins) selects
them. `tailpipe detection show NAME --output tpc` prints one as config, to copy and change. This page is generated.

| table | detections |
|---|---|
{tables}
"""


def page() -> str:
    """The whole page."""
    shipped = list(Registry.installed().detections.values())
    tables = sorted({one.table for one in shipped})
    counts = "\n".join(f"| [`{t}`](#{t}) | {sum(one.table == t for one in shipped)} |" for t in tables)
    parts = [HEAD.format(count=len(shipped), tables=counts)]
    for table in tables:
        parts.append(f"## {table}\n")
        own = [one for one in shipped if one.table == table]
        parts += [_entry(one) for one in sorted(own, key=lambda one: (-SEVERITIES.index(one.severity), one.name))]
    return "\n".join(parts)


def _entry(one: Detection) -> str:
    facts = [f"severity {one.severity}", *one.mitre]
    if one.threshold is not None:
        what = f"different `{one.distinct}`" if one.distinct else "rows"
        facts.append(f"{one.threshold} {what} within {one.within}")
    if one.first_seen:
        facts.append("first of " + ", ".join(f"`{text}`" for text in one.first_seen))
    if one.group_by:
        facts.append("by " + ", ".join(f"`{text}`" for text in one.group_by))
    if one.suppress:
        facts.append(f"once in {one.suppress}")
    return f"### {one.title}\n\n`{one.name}`: {' · '.join(facts)}\n\n{one.description}\n\n```sql\n{one.where}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
