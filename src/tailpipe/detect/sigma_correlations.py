"""Correlations of Sigma rules → thresholds and steps of a detection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tailpipe.errors import UsageError
from tailpipe.model.detection import MOST_STEPS

_LONGEST = 366 * 86_400


def where_of(rule: Any, conditions: Any) -> str:
    """The condition of a rule as SQL."""
    parts = [conditions.sql(one.parsed) for one in rule.detection.parsed_condition]
    return parts[0] if len(parts) == 1 else "(" + " OR ".join(parts) + ")"


def correlated(rule: Any, conditions: Any) -> Mapping[str, Any]:
    """What a correlation counts: rows, values of a field, or rules that are met."""
    kind, referred = rule.type.name.lower(), [one.rule for one in rule.rules or ()]
    if any(not hasattr(one, "detection") for one in referred):
        raise UsageError("correlations of correlations are not supported")
    if rule.timespan.seconds > _LONGEST:
        raise UsageError(f'the timespan "{rule.timespan.spec}" is longer than 366 days')
    wheres = [where_of(one, conditions) for one in referred]
    facts = {
        "group_by": tuple(_grouping(name, rule, wheres, conditions) for name in rule.group_by or ()),
        "within": f"{rule.timespan.seconds}s",
    }
    if kind in ("temporal", "temporal_ordered"):
        _check_temporal(rule, wheres)
        return {**facts, "steps": tuple(wheres), "ordered": kind == "temporal_ordered"}
    operator, count = rule.condition.op.name, rule.condition.count
    if kind not in ("event_count", "value_count") or operator not in ("GT", "GTE"):
        raise UsageError(f"correlations of type {kind} with {operator.lower()} are not supported")
    facts |= {
        "where": "(" + " OR ".join(wheres) + ")",
        "threshold": max(int(count) + (operator == "GT" or count % 1 > 0), 1),
    }
    if kind == "value_count":
        named = rule.condition.fieldref
        names = [_single(conditions, name) for name in ([named] if isinstance(named, str) else named)]
        facts["distinct"] = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
    return facts


def _check_temporal(rule: Any, wheres: Sequence[str]) -> None:
    """Refuse what a temporal correlation can say beyond «all of these rules»."""
    if not hasattr(rule.condition, "count"):
        raise UsageError("conditions over the rules of a temporal correlation are not supported", hint="name rules")
    if rule.condition.op.name != "GTE" or rule.condition.count not in (1, len(wheres)):  # 1 if it has no condition
        raise UsageError("a temporal correlation with a count other than that of its rules is not supported")
    if not 2 <= len(wheres) <= MOST_STEPS:
        raise UsageError(f"a temporal correlation must have 2 to {MOST_STEPS} rules")


def _grouping(name: str, rule: Any, wheres: Sequence[str], conditions: Any) -> str:
    """The field that rows are grouped by; of an alias, the field of the first rule that a row meets."""
    alias = rule.aliases.aliases.get(name)
    if alias is None:
        return _single(conditions, name)
    fields = {one.reference: field for one, field in alias.mapping.items()}
    cases = []
    for one, where in zip(rule.rules, wheres, strict=True):
        names = (one.reference, one.rule.name, str(one.rule.id))
        field = next((fields[name] for name in names if name in fields), None)
        if field is None:
            raise UsageError(f'the alias "{name}" names no field of the rule "{one.reference}"')
        cases.append(f"WHEN {where} THEN {_single(conditions, field)}")
    return f"CASE {' '.join(cases)} END"


def _single(conditions: Any, name: str) -> str:
    """A field of which a row has one value; below JSON the first one."""
    field = conditions.fields.find(name)
    return f"({field.sql})[1]" if field.is_list else field.sql
