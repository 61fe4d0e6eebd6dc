"""Sigma rules → detections: files of YAML are read and translated; a rule that cannot be is reported and left out.

pySigma parses rules. Nothing of it that downloads is imported, and no pipeline is taken from a config.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tailpipe.detect.sigma_fields import Fields
from tailpipe.errors import UsageError
from tailpipe.model.detection import SEVERITIES, Detection, SigmaRules
from tailpipe.model.table import Table

__all__ = ["load_sigma"]

_LARGEST = 1_000_000
_LEVELS = {"INFORMATIONAL": "info"}
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
Say = Callable[[str], None]


def load_sigma(rules: SigmaRules, table: Table, say: Say) -> dict[str, Detection]:
    """The detections of a block, by name; `say` gets a line for each rule that cannot be used, with file and place."""
    try:
        import sigma.collection  # noqa: F401 - late, because it is an extra
    except ImportError:
        raise UsageError("Sigma rules need the package pysigma", hint="pip install 'tailpipe[sigma]'") from None
    from tailpipe.detect.sigma_sql import Conditions

    conditions = Conditions(Fields(table, rules.fields), rules.keywords, rules.values)
    found: dict[str, Detection] = {}
    for file in _files(rules, say):
        for detection in _read(file, rules, conditions, say):
            name, number = detection.name, 1
            while detection.name in found:
                number += 1
                detection = _renamed(detection, f"{name}_{number}")
            found[detection.name] = detection
    return found


def _renamed(detection: Detection, name: str) -> Detection:
    from dataclasses import replace

    return replace(detection, name=name)


def _files(rules: SigmaRules, say: Say) -> Iterator[Path]:
    for text in rules.paths:
        path = Path(text).expanduser()
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from sorted(one for one in path.rglob("*") if one.suffix in (".yml", ".yaml") and one.is_file())
        else:
            say(f'sigma "{rules.name}": there is no file or directory "{text}"')


def _read(file: Path, rules: SigmaRules, conditions: Any, say: Say) -> Iterator[Detection]:
    from sigma.collection import SigmaCollection
    from sigma.exceptions import SigmaError

    try:
        if file.stat().st_size > _LARGEST:
            raise ValueError(f"it is larger than {_LARGEST:,} bytes")
        text = file.read_text(encoding="utf-8")
        collection = SigmaCollection.from_yaml(text)
        collection.resolve_rule_references()
    except (SigmaError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        say(f"{file}: {_first(error)}")
        return
    except Exception as error:  # noqa: BLE001 - what the YAML parser raises has no common base with the rest
        say(f"{file}: {_first(error)}")
        return
    referred = {id(one.rule) for rule in collection.rules for one in getattr(rule, "rules", ())}
    for rule in collection.rules:
        if not _is_wanted(rule, rules) or (id(rule) in referred and not _generates(rule, collection)):
            continue
        try:
            yield _detection(rule, file, rules, conditions)
        except (UsageError, SigmaError) as error:
            message = error.message if isinstance(error, UsageError) else _first(error)
            hint = f"; {error.hint}" if isinstance(error, UsageError) and error.hint else ""
            say(f"{file}:{_line(text, message)}: {message}{hint}")


def _generates(rule: Any, collection: Any) -> bool:
    """Whether a rule that a correlation refers to makes hits of its own, too."""
    return any(
        getattr(other, "generate", False)
        for other in collection.rules
        for one in getattr(other, "rules", ())
        if one.rule is rule
    )


def _is_wanted(rule: Any, rules: SigmaRules) -> bool:
    names = {str(rule.id), rule.title, getattr(rule, "name", None)}
    if names & set(rules.exclude):
        return False
    return SEVERITIES.index(_severity(rule)) >= SEVERITIES.index(rules.min_severity)


def _severity(rule: Any) -> Any:
    return _LEVELS.get(rule.level.name, rule.level.name.lower()) if rule.level is not None else "medium"


def _detection(rule: Any, file: Path, rules: SigmaRules, conditions: Any) -> Detection:
    facts = {
        "name": _UNFIT.sub("_", f"{rules.name}_{file.stem}")[:90],
        "table": rules.table,
        "title": str(rule.title),
        "description": str(rule.description) if rule.description else None,
        "severity": _severity(rule),
        "mitre": tuple(_mitre(rule)),
        "notify": tuple(rules.notify),
        "origin": str(file),
    }
    if not hasattr(rule, "detection"):
        return Detection(**facts, **_correlation(rule, conditions))
    return Detection(**facts, where=_where(rule, conditions))


def _where(rule: Any, conditions: Any) -> str:
    parts = [conditions.sql(one.parsed) for one in rule.detection.parsed_condition]
    return parts[0] if len(parts) == 1 else "(" + " OR ".join(parts) + ")"


def _correlation(rule: Any, conditions: Any) -> Mapping[str, Any]:
    """A correlation as a threshold: of rows, of values of a field, or of rules."""
    kind = rule.type.name.lower()
    wheres = [_where(one.rule, conditions) for one in rule.rules]
    facts: dict[str, Any] = {
        "where": "(" + " OR ".join(wheres) + ")",
        "group_by": tuple(_single(conditions, name) for name in rule.group_by or ()),
        "within": f"{rule.timespan.seconds}s",
    }
    if kind == "temporal":
        cases = " ".join(f"WHEN {where} THEN {number}" for number, where in enumerate(wheres))
        return {**facts, "distinct": f"CASE {cases} END", "threshold": len(wheres)}
    operator = rule.condition.op.name if rule.condition is not None else ""
    if kind not in ("event_count", "value_count") or operator not in ("GT", "GTE"):
        raise UsageError(f"correlations of type {kind} with {operator.lower() or 'no condition'} are not supported")
    facts["threshold"] = rule.condition.count + (operator == "GT")
    if kind == "value_count":
        named = rule.condition.fieldref
        facts["distinct"] = _single(conditions, named if isinstance(named, str) else named[0])
    return facts


def _single(conditions: Any, name: str) -> str:
    """A field of which a row has one value; below JSON the first one."""
    field = conditions.fields.find(name)
    return f"({field.sql})[1]" if field.is_list else field.sql


def _mitre(rule: Any) -> Iterator[str]:
    for tag in rule.tags:
        if tag.namespace == "attack" and re.fullmatch(r"t\d{4}(\.\d{3})?", tag.name):
            yield tag.name.upper()


def _line(text: str, message: str) -> int:
    """The line of the field or placeholder that a message names; the first one if it names none."""
    for word in re.findall(r'"([^"]+)"', message)[::-1]:
        for number, line in enumerate(text.splitlines(), 1):
            if word in line:
                return number
    return 1


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
