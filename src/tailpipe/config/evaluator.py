"""Syntax tree → values: expressions, functions, and references to other blocks."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from tailpipe.config import syntax
from tailpipe.config.convert import Reference
from tailpipe.config.functions import FUNCTIONS, MissingError, Surroundings, a_kind, arity, shown
from tailpipe.config.printer import quote
from tailpipe.config.text import Absent, Problem
from tailpipe.errors import UsageError
from tailpipe.model.nearest import did_you_mean, listed

Value = Any
_SIZE_LIMIT = 1_000_000
_LARGEST = 10**400
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Evaluator:
    """Gives the value of an expression. `resolve` answers for names, which are references to blocks."""

    def __init__(self, around: Surroundings, resolve: Callable[[syntax.Name], Value]) -> None:
        self.around = around
        self.resolve = resolve

    def value(self, expression: syntax.Expression) -> Value:
        """The value, or a `Problem` at the part that has none."""
        match expression:
            case syntax.Literal():
                return expression.value
            case syntax.Template():
                return self._template(expression)
            case syntax.List():
                return [self.value(item) for item in expression.items]
            case syntax.Map():
                return self._map(expression)
            case syntax.Name():
                return self.resolve(expression)
            case syntax.Index():
                return self._index(expression)
            case syntax.Call():
                return self._call(expression)
            case syntax.Unary():
                operand = expression.operand
                return not self._boolean(operand) if expression.operator == "!" else -self._number(operand)
            case syntax.Binary():
                return self._binary(expression)
            case syntax.Conditional():
                condition = self._boolean(expression.condition)
                return self.value(expression.then if condition else expression.otherwise)

    def _template(self, template: syntax.Template) -> Value:
        if len(template.parts) == 1 and not isinstance(template.parts[0], str):
            return self.value(template.parts[0])  # "${x}" is x itself, whatever its type
        texts: list[str] = []
        for part in template.parts:
            try:
                texts.append(part if isinstance(part, str) else shown(self.value(part)))
            except ValueError as error:
                raise Problem(str(error), part.span) from None  # type: ignore[union-attr] # text has a value
        return self._bounded("".join(texts), template)

    def _map(self, expression: syntax.Map) -> dict[str, Value]:
        items: dict[str, Value] = {}
        first: dict[str, syntax.Span] = {}
        for key_expression, value_expression in expression.items:
            key = self.value(key_expression)
            if isinstance(key, bool) or not isinstance(key, str | int | float):
                raise Problem(f"expected text as the key, got {a_kind(key)}", key_expression.span)
            name = shown(key)
            if name in items:
                note = ("first here", first[name])
                raise Problem(f'the key "{name}" is duplicated', key_expression.span, note=note)
            first[name] = key_expression.span
            items[name] = self.value(value_expression)
        return items

    def _index(self, expression: syntax.Index) -> Value:
        value, key = self.value(expression.value), self.value(expression.key)
        if isinstance(value, list):
            if isinstance(key, bool) or not isinstance(key, int):
                raise Problem(f"expected an integer as the list index, got {a_kind(key)}", expression.key.span)
            if not 0 <= key < len(value):
                items = "1 item" if len(value) == 1 else f"{len(value)} items"
                raise Problem(f"the list has {items}, none at {key}", expression.key.span, "the first is at 0")
            return value[key]
        if isinstance(value, Reference) and isinstance(key, str):
            return self.resolve(syntax.Name([value.kind, *value.labels, key], expression.span))
        if isinstance(value, dict):
            if not isinstance(key, str):
                raise Problem(f"expected text as the key, got {a_kind(key)}", expression.key.span)
            if key not in value:
                hint = did_you_mean(key, value, _there_are(value))
                raise Problem(f'the map has no key "{key}"', expression.key.span, hint)
            return value[key]
        raise Problem(f"{a_kind(value)} has no parts", expression.value.span)

    def _call(self, call: syntax.Call) -> Value:
        function = FUNCTIONS.get(call.function)
        name_span = (call.span[0], call.span[0] + len(call.function))
        if function is None:
            hint = did_you_mean(call.function, FUNCTIONS, _there_are(FUNCTIONS))
            raise Problem(f'there is no function "{call.function}"', name_span, hint)
        fewest, most = arity(function)
        count = len(call.arguments)
        if count < fewest or (most is not None and count > most):
            raise Problem(f'"{call.function}" takes {_arguments(fewest, most)}, not {count}', call.span)
        arguments = [self.value(argument) for argument in call.arguments]
        try:
            return self._bounded(function(self.around, *arguments), call)
        except MissingError as error:
            written = f"{call.function}({quote(arguments[0])})"
            raise Absent(f"{call.function}: {error}", call.span, error.hint, call=written) from None
        except (UsageError, ValueError) as error:
            raise Problem(f"{call.function}: {error}", call.span, getattr(error, "hint", "")) from None

    def _binary(self, expression: syntax.Binary) -> Value:
        sign = expression.operator
        if sign in ("&&", "||"):
            left = self._boolean(expression.left)
            return self._boolean(expression.right) if left == (sign == "&&") else left
        if sign in ("==", "!="):
            one, other = self.value(expression.left), self.value(expression.right)
            is_equal = isinstance(one, bool) == isinstance(other, bool) and one == other  # to Python, true is 1
            return is_equal == (sign == "==")
        first, second = self._number(expression.left), self._number(expression.right)
        try:
            result = _ARITHMETIC[sign](first, second)
        except ZeroDivisionError:
            raise Problem("division by zero", expression.right.span) from None
        except OverflowError:
            raise Problem("the number is too large", expression.span) from None
        if abs(result) > _LARGEST or (isinstance(result, float) and not math.isfinite(result)):
            raise Problem("the number is too large", expression.span)
        is_whole = sign == "/" and isinstance(result, float) and result.is_integer() and abs(result) < 2**53
        return int(result) if is_whole else result

    def _boolean(self, expression: syntax.Expression) -> bool:
        value = self.value(expression)
        if not isinstance(value, bool):
            raise Problem(f"expected true or false, got {a_kind(value)}", expression.span)
        return value

    def _number(self, expression: syntax.Expression) -> int | float:
        value = self.value(expression)
        if isinstance(value, bool) or not isinstance(value, int | float):
            hint = 'text is joined by "${a}${b}"' if isinstance(value, str) else ""
            raise Problem(f"expected a number, got {a_kind(value)}", expression.span, hint)
        return value

    def _bounded(self, value: Value, expression: syntax.Expression) -> Value:
        if isinstance(value, str | list) and len(value) > _SIZE_LIMIT:
            raise Problem(f"the value is larger than {_SIZE_LIMIT:,}", expression.span)
        return value


def _there_are(known: Any) -> str:
    return f"there are: {listed(known, 20)}" if known else "it is empty"


def _arguments(fewest: int, most: int | None) -> str:
    if most is None:
        return f"{fewest} or more arguments"
    if fewest != most:
        return f"{fewest} to {most} arguments"
    return "1 argument" if most == 1 else f"{most or 'no'} arguments"
