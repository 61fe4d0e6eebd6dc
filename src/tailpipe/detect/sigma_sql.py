"""Conditions of Sigma rules → SQL that is true or false and never unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sigma import conditions, types

from tailpipe.detect.sigma_fields import Field, Fields, Test
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.sql.quoting import literal, quoted

_OPERATORS = {"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}


@frozen
class Conditions:
    """Translates the conditions of rules over one table."""

    fields: Fields
    keywords: str | None
    """The column that rules of keywords alone are looked for in."""
    values: Mapping[str, Sequence[str]]
    """The values of placeholders."""

    def sql(self, node: Any) -> str:
        """The condition of a parsed rule as SQL."""
        if isinstance(node, conditions.ConditionNOT):
            return f"NOT {self.sql(node.args[0])}"
        if isinstance(node, conditions.ConditionAND | conditions.ConditionOR):
            word = " AND " if isinstance(node, conditions.ConditionAND) else " OR "
            return "(" + word.join(self.sql(one) for one in node.args) + ")"
        if isinstance(node, conditions.ConditionFieldEqualsValueExpression):
            return self._equals(self.fields.find(node.field), node.value)
        if isinstance(node, conditions.ConditionValueExpression):
            return self._keyword(node.value)
        raise UsageError(f"{type(node).__name__} is not supported")

    def _keyword(self, value: Any) -> str:
        if self.keywords is None:
            raise UsageError("the rule searches for keywords", hint="set the column with the text: keywords")
        text = Field(f"{quoted(self.keywords)}::VARCHAR")
        if isinstance(value, types.SigmaString):
            any_, parts = types.SpecialChars.WILDCARD_MULTI, list(value.s)
            return self._either(text, [_like([any_, *parts, any_])])
        return self._equals(text, value)

    def _equals(self, field: Field, value: Any) -> str:
        for kind, translate in self._kinds():
            if isinstance(value, kind):
                return translate(field, value)
        raise UsageError(f"values of {type(value).__name__} are not supported")

    def _kinds(self) -> Iterator[tuple[type, Callable[[Field, Any], str]]]:
        yield types.SigmaExpansion, lambda f, v: "(" + " OR ".join(self._equals(f, one) for one in v.values) + ")"
        yield types.SigmaCasedString, lambda f, v: self._strings(f, v, is_cased=True)
        yield types.SigmaString, self._strings
        yield types.SigmaBool, lambda f, v: f.holds(lambda x: f"lower({x}) = '{str(v.boolean).lower()}'")
        yield types.SigmaNumber, lambda f, v: f.holds(lambda x: f"TRY_CAST({x} AS DOUBLE) = {v.number!r}")
        yield types.SigmaNull, lambda f, _: f"NOT {f.is_there}"
        yield types.SigmaExists, lambda f, v: f.is_there if v.exists else f"NOT {f.is_there}"
        yield types.SigmaRegularExpression, _regex
        yield types.SigmaCIDRExpression, _network
        yield types.SigmaCompareExpression, _compare
        yield types.SigmaFieldReference, self._reference

    def _strings(self, field: Field, value: Any, *, is_cased: bool = False) -> str:
        return self._either(field, [_like(parts, is_cased=is_cased) for parts in self._expanded(value)])

    def _expanded(self, value: Any) -> list[list[Any]]:
        """The parts of a text, with each value in place of a placeholder; values may have wildcards."""
        found: list[list[Any]] = [[]]
        for part in value.s:
            options = [[part]]
            if isinstance(part, types.Placeholder):
                options = [list(types.SigmaString(one).s) for one in self._values_of(part.name)]
            found = [_joined([*before, *option]) for before in found for option in options]
        return found

    def _values_of(self, name: str) -> Sequence[str]:
        if name not in self.values:
            hint = f'add it: values = {{ {name} = ["…"] }}'
            raise UsageError(f'the placeholder "{name}" has no value', hint=hint)
        return self.values[name]

    @staticmethod
    def _either(field: Field, tests: Sequence[Test]) -> str:
        return "(" + " OR ".join(field.holds(test) for test in tests) + ")" if tests else "false"

    def _reference(self, field: Field, value: Any) -> str:
        other = self.fields.find(value.field)
        if other.is_list:
            raise UsageError(f'"{value.field}" may have several values, which fieldref cannot compare')
        if value.starts_with or value.ends_with:
            name = "starts_with" if value.starts_with else "ends_with"
            return field.holds(lambda x: f"{name}(lower({x}), lower({other.sql}))")
        return field.holds(lambda x: f"lower({x}) = lower({other.sql})")


def _joined(parts: Sequence[Any]) -> list[Any]:
    """Join texts that follow each other into one part."""
    found: list[Any] = []
    for part in parts:
        if found and isinstance(part, str) and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return found


def _like(parts: Sequence[Any], *, is_cased: bool = False) -> Test:
    """The test of a text with wildcards; without them, and with one at an end, it is simpler and faster."""
    multi, single = types.SpecialChars.WILDCARD_MULTI, types.SpecialChars.WILDCARD_SINGLE
    wrap = "{}" if is_cased else "lower({})"
    inner = [part for part in parts if part is not multi]
    if not inner and parts:
        return lambda x: f"{x} IS NOT NULL"
    if len(inner) <= 1 and all(isinstance(part, str) for part in inner):
        plain = wrap.format(literal("".join(inner)))
        at_start, at_end = parts[:1] != [multi], parts[-1:] != [multi]
        if at_start and at_end:
            return lambda x: f"{wrap.format(x)} = {plain}"
        name = "starts_with" if at_start else "ends_with" if at_end else "contains"
        return lambda x: f"{name}({wrap.format(x)}, {plain})"
    pattern = ""
    for part in parts:
        if part is multi or part is single:
            pattern += "%" if part is multi else "_"
        else:
            pattern += part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return lambda x: f"{wrap.format(x)} LIKE {wrap.format(literal(pattern))} ESCAPE '\\'"


def _regex(field: Field, value: Any) -> str:
    flags = "".join(sorted({flag.name[0].lower() for flag in value.flags} & {"i", "m", "s"}))
    text = str(value.regexp)
    pattern = literal(f"(?{flags}){text}" if flags else text)
    return field.holds(lambda x: f"regexp_matches({x}, {pattern})")


def _network(field: Field, value: Any) -> str:
    network = literal(str(value.cidr))
    return field.holds(lambda x: f"TRY_CAST({x} AS INET) <<= {network}::INET")


def _compare(field: Field, value: Any) -> str:
    operator = _OPERATORS.get(value.op.name)
    if operator is None:
        raise UsageError(f"the comparison {value.op.name.lower()} is not supported")
    return field.holds(lambda x: f"TRY_CAST({x} AS DOUBLE) {operator} {value.number.number!r}")
