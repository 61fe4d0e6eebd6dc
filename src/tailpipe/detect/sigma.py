"""Sigma rules → detections: YAML files are read and translated; a rule that cannot be translated is reported.

pySigma parses rules. Nothing of it that downloads is imported, and no pipeline is taken from a config.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tailpipe.detect.sigma_correlations import correlated, where_of
from tailpipe.detect.sigma_fields import Fields
from tailpipe.errors import UsageError
from tailpipe.model.detection import SEVERITIES, Detection, SigmaRules
from tailpipe.model.table import Table

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
                detection = replace(detection, name=f"{name}_{number}")
            found[detection.name] = detection
    return found


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
    from yaml import YAMLError

    try:
        if file.stat().st_size > _LARGEST:
            raise ValueError(f"it is larger than {_LARGEST:,} bytes")
        text = file.read_text(encoding="utf-8")
        collection = SigmaCollection.from_yaml(text)
        collection.resolve_rule_references()
    except (SigmaError, YAMLError, OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:
        say(f"{file}: {_first(error)}")
        return
    referred = {id(one.rule) for rule in collection.rules for one in getattr(rule, "rules", None) or ()}
    for rule in collection.rules:
        is_part = id(rule) in referred and hasattr(rule, "detection") and not _generates(rule, collection)
        if is_part or not _is_wanted(rule, rules):
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
        for one in getattr(other, "rules", None) or ()
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
        "mitre": tuple(
            tag.name.upper()
            for tag in rule.tags
            if tag.namespace == "attack" and re.fullmatch(r"t\d{4}(\.\d{3})?", tag.name)
        ),
        "notify": tuple(rules.notify),
        "origin": str(file),
    }
    if not hasattr(rule, "detection"):
        return Detection(**facts, **correlated(rule, conditions))
    return Detection(**facts, where=where_of(rule, conditions))


def _line(text: str, message: str) -> int:
    """The line of the field or placeholder that a message names; the first one if it names none."""
    for word in re.findall(r'"([^"]+)"', message)[::-1]:
        for number, line in enumerate(text.splitlines(), 1):
            if word in line:
                return number
    return 1


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
