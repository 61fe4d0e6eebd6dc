"""Text → syntax tree: a recursive descent over the characters, which goes on after a mistake."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Literal, TypeVar, cast

from tailpipe.config import syntax
from tailpipe.config.cursor import Cursor
from tailpipe.config.strings import StringReader
from tailpipe.config.text import Problem

T = TypeVar("T")

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_MORE_THAN_A_NUMBER = re.compile(r"[\w.]+")
_OPERATOR = re.compile(r"\|\||&&|==|!=|<=|>=|[-+*/%<>]")
_ITEM_FOLLOWS = re.compile(r"[^\W\d][\w-]*[ \t]*(?:=(?!=)|\{|\")")
_NEXT_ITEM = re.compile(r"[ \t]*[^\W\d][\w-]*[ \t]*(?:=(?!=)|\{|\"|[^\W\d])")
_FOR = re.compile(r"\s*(for)\s+[^\W\d]")
_BRACE_BELOW = re.compile(r"\s*\{")
_SKIPPED = re.compile(r'"(?:[^"\\\n]|\\.)*"?|`[^`]*`?|//[^\n]*|#[^\n]*|/\*(?s:.*?)(?:\*/|\Z)|[][(){}\n]')
_CLOSING = re.compile(r"\}(?:[ \t]*\})*")
_PRECEDENCE = {
    operator: rank
    for rank, operators in enumerate(("||", "&&", "== !=", "< <= > >=", "+ -", "* / %"))
    for operator in operators.split()
}
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_DIGITS_LIMIT = 400
_CHAIN_LIMIT = 64


def parse(text: str) -> tuple[syntax.Body, list[Problem]]:
    """Read a whole file; return the syntax tree of all that can be read, and the problems of the rest."""
    parser = _Parser(Cursor(text))
    return parser.file(), parser.problems


class _Parser:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.text = cursor.text
        self.problems: list[Problem] = []
        self.is_swallowed = False
        """Whether something that is not closed reached to the end, and with it what would have closed the blocks."""
        self.strings = StringReader(cursor, self.expression)
        self.readers: dict[str, Callable[[], syntax.Expression]] = {
            '"': self.strings.quoted,
            "`": self.strings.raw,
            "(": self.group,
        }

    # Bodies

    def file(self) -> syntax.Body:
        body, cursor = syntax.Body(), self.cursor
        while True:
            self.body_items(body)
            if cursor.at_end:
                return body
            if closing := _CLOSING.match(self.text, cursor.position):
                self.problems.append(Problem('"}" has no matching "{"', closing.span(), "remove it"))
                cursor.position = closing.end()

    def body_items(self, body: syntax.Body) -> None:
        """Attributes and blocks, up to a closing brace or the end."""
        cursor, depth = self.cursor, self.cursor.depth
        while True:
            try:
                cursor.skip(newlines=True)
                if cursor.at_end or cursor.peek() == "}":
                    return
                self.item(body)
            except Problem as problem:
                self.problems.append(problem)
                self.is_swallowed = self.is_swallowed or cursor.at_end
                body.is_broken = True
                cursor.depth = depth
                self.resume(problem.span[0])

    def item(self, body: syntax.Body) -> None:
        cursor = self.cursor
        start = cursor.position
        name = cursor.word()
        if name is None:
            hint = "an argument is written name = value, a block name { … }"
            if cursor.peek() in ('"', "`"):
                hint = "names of arguments and blocks stand without quotes"
            raise Problem(f"expected a block or an argument, got {cursor.shown_here()}", cursor.here(), hint)
        span = (start, cursor.position)
        cursor.skip()
        following = cursor.peek()
        if following == "=" and not self.text.startswith("==", cursor.position):
            cursor.position += 1
            cursor.skip()
            body.attributes.append(syntax.Attribute(name, self.expression(), span))
            self.end_of_item()
        elif following == ":":
            raise Problem(f'":" is not allowed after the argument "{name}"', cursor.here(), "write = instead")
        else:
            body.blocks.append(self.block(name, span))

    def end_of_item(self) -> None:
        """Require the end of an argument: a line may have several, as in `spark { master = "local" conf = {} }`."""
        cursor = self.cursor
        cursor.skip()
        if not (cursor.at_end or cursor.peek() in "\n}" or _ITEM_FOLLOWS.match(self.text, cursor.position)):
            if cursor.peek() in ('"', "`"):
                raise Problem("unexpected second text", cursor.here(), "end the line here, or write a list: [a, b]")
            hint = "end the line here; text needs quotes"
            if cursor.peek() in (",", ";"):
                hint = "a blank or a new line divides arguments"
            raise Problem(f"unexpected {cursor.shown_here()}", cursor.here(), hint)

    def block(self, kind: str, span: syntax.Span) -> syntax.Block:
        cursor = self.cursor
        try:
            labels = self.labels(kind)
        except Problem:
            # Go to the brace at the end of the line, so that the body is skipped.
            head = self.text[span[1] :].partition("\n")[0].rstrip()
            if head.endswith("{"):
                cursor.position = span[1] + len(head) - 1
            raise
        block = syntax.Block(kind, labels, syntax.Body(), span)
        opening = cursor.position
        with cursor.deeper():
            cursor.position += 1
            self.body_items(block.body)
        if cursor.at_end:
            block.body.is_broken = True
        if cursor.at_end and not self.is_swallowed:
            self.problems.append(Problem(f'the block "{kind}" is not closed', (opening, opening + 1), 'add "}"'))
        cursor.position += 1
        return block

    def labels(self, kind: str) -> list[syntax.Label]:
        cursor, labels = self.cursor, list[syntax.Label]()
        while (following := cursor.peek()) != "{":
            start = cursor.position
            if following in ('"', "`"):
                value = self.strings.quoted() if following == '"' else self.strings.raw()
                if not isinstance(value, syntax.Literal):
                    raise Problem("a label cannot contain ${…}", value.span)
                labels.append(syntax.Label(cast(str, value.value), value.span))
            elif (word := cursor.word()) is not None:
                labels.append(syntax.Label(word, (start, cursor.position)))
            elif match := _BRACE_BELOW.match(self.text, start):
                cursor.position = match.end() - 1
                raise Problem(f'the "{{" of "{kind}" is on another line', cursor.here(), f'put it after "{kind}"')
            elif labels:
                hint = "a label that holds more than letters, digits, _ and - needs quotes"
                raise Problem(f'expected "{{" after the labels of "{kind}"', cursor.here(), hint)
            else:
                hint = "an argument is written name = value, a block name { … }"
                raise Problem(f'expected "=" or "{{" after "{kind}"', cursor.here(), hint)
            cursor.skip()
        return labels

    def resume(self, start: int) -> None:
        """Go on behind the line of the mistake, and behind the brackets that are open there."""
        cursor, opened = self.cursor, self.cursor.brackets
        cursor.brackets = []
        cursor.position = max(cursor.position, start)
        braces = opened.count("{")
        while match := _SKIPPED.search(self.text, cursor.position):
            found = match[0]
            if found in ("(", "[", "{"):
                opened.append(found)
                braces += found == "{"
            elif found in (")", "]") and opened and opened[-1] != "{":
                opened.pop()
            elif found == "}":
                if not braces:
                    cursor.position = match.start()
                    return
                while opened.pop() != "{":
                    pass
                braces -= 1
            cursor.position = match.end()
            # A list that is never closed ends where something begins that no list holds.
            if found == "\n" and not braces and (not opened or _NEXT_ITEM.match(self.text, match.end())):
                return
        cursor.position = len(self.text)

    # Expressions

    def expression(self) -> syntax.Expression:
        cursor = self.cursor
        with cursor.deeper():
            value = self.binary(0)
            cursor.skip()
            if cursor.peek() == "?":
                question = cursor.position
                cursor.position += 1
                then = cursor.inside(self.expression)
                cursor.expect(":", "the second value of the conditional is missing", question)
                if cursor.brackets:
                    otherwise = cursor.inside(self.expression)
                else:  # the newline behind the last value ends the argument, so only those before it are blanks
                    cursor.skip(newlines=True)
                    otherwise = self.expression()
                value = syntax.Conditional(value, then, otherwise, (value.span[0], otherwise.span[1]))
        return value

    def binary(self, lowest: int) -> syntax.Expression:
        cursor = self.cursor
        left = self.unary()
        for count in itertools.count():
            cursor.skip()
            match = _OPERATOR.match(self.text, cursor.position)
            if match is None or _PRECEDENCE[match[0]] < lowest:
                break
            self.not_too_many(count, "operators")
            cursor.position = match.end()
            cursor.skip(newlines=True)
            with cursor.deeper():
                right = self.binary(_PRECEDENCE[match[0]] + 1)
            left = syntax.Binary(match[0], left, right, (left.span[0], right.span[1]))
        return left

    def not_too_many(self, count: int, what: str) -> None:
        """Refuse a chain so long that its tree would be deeper than Python's own stack."""
        if count >= _CHAIN_LIMIT:
            raise Problem(f"more than {_CHAIN_LIMIT} {what} in a row", self.cursor.here())

    def unary(self) -> syntax.Expression:
        cursor = self.cursor
        start, following = cursor.position, cursor.peek()
        if following not in ("-", "!") or _NUMBER.match(self.text, start):
            return self.postfix(self.primary())
        cursor.position += 1
        cursor.skip()
        with cursor.deeper():
            operand = self.unary()
        return syntax.Unary(cast('Literal["-", "!"]', following), operand, (start, operand.span[1]))

    def postfix(self, value: syntax.Expression) -> syntax.Expression:
        cursor = self.cursor
        for count in itertools.count():
            following = cursor.peek()
            if following not in ("[", "."):
                break
            self.not_too_many(count, "parts")
            if following == "[":
                opening = cursor.position
                cursor.position += 1
                key = cursor.inside(self.expression, "[")
                cursor.expect("]", "the index is not closed", opening)
            else:
                cursor.position += 1
                start = cursor.position
                word = cursor.word()
                if word is None:
                    raise Problem("expected a name after the dot", cursor.here())
                if isinstance(value, syntax.Name):
                    value = syntax.Name([*value.parts, word], (value.span[0], cursor.position))
                    continue
                key = syntax.Literal(word, (start, cursor.position))
            value = syntax.Index(value, key, (value.span[0], cursor.position))
        return value

    def primary(self) -> syntax.Expression:
        cursor = self.cursor
        start, following = cursor.position, cursor.peek()
        if following in self.readers:
            return self.readers[following]()
        if following == "[":
            return syntax.List(self.items("]", self.expression, "the list"), (start, cursor.position))
        if following == "{":
            return syntax.Map(self.items("}", self.map_item, "the map"), (start, cursor.position))
        if self.text.startswith("<<", start):
            return self.strings.heredoc()
        if match := _NUMBER.match(self.text, start):
            return self.number(match)
        if (word := cursor.word()) is not None:
            if word in _CONSTANTS:
                return syntax.Literal(_CONSTANTS[word], (start, cursor.position))
            if cursor.peek() != "(":
                return syntax.Name([word], (start, cursor.position))
            arguments = self.items(")", self.expression, f'the call of "{word}"')
            return syntax.Call(word, arguments, (start, cursor.position))
        if not following.strip():
            raise Problem("expected a value", cursor.here())
        hint = 'write text in quotes: "…"' if following not in ")]}," else ""
        if following in "'‘’“”„«»":
            hint = 'write text in straight double quotes: "…"'
        raise Problem(f"expected a value, got {cursor.shown_here()}", cursor.here(), hint)

    def group(self) -> syntax.Expression:
        opening = self.cursor.position
        self.cursor.position += 1
        value = self.cursor.inside(self.expression)
        self.cursor.expect(")", "the bracket is not closed", opening)
        return value

    def number(self, match: re.Match[str]) -> syntax.Literal:
        cursor, span = self.cursor, match.span()
        cursor.position = span[1]
        if more := _MORE_THAN_A_NUMBER.match(self.text, span[1]):
            span = (span[0], more.end())
            raise Problem(f'"{self.text[slice(*span)][:40]}" is not a number', span, "text needs quotes")
        if len(match[0]) > _DIGITS_LIMIT:
            raise Problem("the number is too long", span)
        if match[1] is None and match[2] is None:
            return syntax.Literal(int(match[0]), span)
        value = float(match[0])
        if value in (float("inf"), float("-inf")):
            raise Problem("the number is too large", span)
        return syntax.Literal(value, span)

    def map_item(self) -> tuple[syntax.Expression, syntax.Expression]:
        cursor = self.cursor
        start = cursor.position
        word = cursor.word()
        key = self.expression() if word is None else syntax.Literal(word, (start, cursor.position))
        cursor.skip()
        if cursor.peek() not in ("=", ":"):
            hint = "a key with points in it needs quotes" if cursor.peek() == "." else "write { key = value }"
            raise Problem("expected = between the key and its value", cursor.here(), hint)
        cursor.position += 1
        cursor.skip()
        return key, self.expression()

    def items(self, closing: str, read: Callable[[], T], what: str) -> list[T]:
        """The items between brackets; commas divide them, and may follow the last one. A map needs none."""
        cursor, found = self.cursor, []
        start = cursor.position
        cursor.position += 1
        cursor.brackets.append(self.text[start])
        if match := _FOR.match(self.text, start + 1):
            raise Problem("there are no for expressions in this language", match.span(1), f"write {what} out")
        cursor.skip()
        while cursor.peek() != closing:
            if cursor.at_end:
                raise self.not_closed(closing, what, (start, start + 1))
            found.append(read())
            cursor.skip()
            if cursor.peek() == ",":
                cursor.position += 1
                cursor.skip()
            elif cursor.peek() != closing and closing != "}" and not cursor.at_end:
                raise self.not_closed(closing, what, (start, start + 1))
        cursor.position += 1
        cursor.brackets.pop()
        return found

    def not_closed(self, closing: str, what: str, opening: syntax.Span) -> Problem:
        cursor = self.cursor
        if cursor.at_end:
            return Problem(f"{what} is not closed", opening, f'add "{closing}"')
        message = f'expected "," or "{closing}", got {cursor.shown_here()}'
        return Problem(message, cursor.here(), note=cursor.beginning(what, opening[0]))
