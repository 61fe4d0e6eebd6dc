"""The text of the search box as a tree of terms: `status:>=500 path:/login* -method:GET "some text"`.

Nothing here knows tables: which fields exist, and what a value means to a column, `conditions.py` decides.
"""

from __future__ import annotations

import re
from typing import Literal

from tailpipe.errors import Place, QueryError
from tailpipe.frozen import frozen

LONGEST = 4_000
DEEPEST = 40
MOST_TERMS = 200

Operator = Literal["=", ">", ">=", "<", "<=", "range", "exists"]

_NAME = re.compile(r"[^\W\d][\w@$-]*(?:\.[\w@$-]+)*")
_COMPARED = re.compile(r">=|<=|>|<|=")
_SPACE = re.compile(r"\s*")
_ENDS = frozenset('()"')


@frozen
class Value:
    """What a field is compared with: the texts between its `*`, of which there is one without a wildcard."""

    parts: tuple[str, ...]
    is_quoted: bool = False
    start: int = 0
    end: int = 0

    @property
    def text(self) -> str:
        """The value as it was written."""
        return "*".join(self.parts)

    @property
    def is_pattern(self) -> bool:
        """Whether it has a wildcard."""
        return len(self.parts) > 1


@frozen
class Text:
    """A word or phrase that any text column may hold."""

    value: Value


@frozen
class Match:
    """A condition on a field; `path` are its names, from the column inwards."""

    path: tuple[str, ...]
    operator: Operator
    values: tuple[Value, ...]
    start: int
    end: int


@frozen
class Not:
    """What a row must not meet."""

    term: Term


@frozen
class And:
    """All of them; none is met by every row."""

    terms: tuple[Term, ...]


@frozen
class Or:
    """Any of them."""

    terms: tuple[Term, ...]


Term = Text | Match | Not | And | Or


def mistake(text: str, start: int, end: int, message: str, hint: str = "") -> QueryError:
    """What is wrong with a span of the search text."""
    line = text.count("\n", 0, start) + 1
    begin = text.rfind("\n", 0, start) + 1
    place = Place("search", line, start - begin + 1, max(1, end - start), text[begin:].partition("\n")[0])
    return QueryError(message, hint=hint, place=place)


def parse_terms(text: str) -> Term:
    """The tree of a search text; an empty text is met by every row."""
    if len(text) > LONGEST:
        raise mistake(text[:80], 0, 1, f"the search is longer than {LONGEST:,} characters", "use the SQL page")
    if "\0" in text:
        raise mistake(text, text.index("\0"), text.index("\0") + 1, "the search holds the character NUL")
    parser = _Parser(text)
    term = parser.either(0)
    if parser.at < len(text):
        raise parser.wrong(parser.at, parser.at + 1, "unexpected )", "remove it, or open a bracket before it")
    return term


class _Parser:
    """Recursive descent over the text; `at` is the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.count = 0

    def either(self, depth: int) -> Term:
        """Terms with OR between them."""
        if depth > DEEPEST:
            raise self.wrong(self.at, self.at + 1, f"brackets are nested deeper than {DEEPEST}")
        found = [self.every(depth)]
        while (word := self.keyword("OR")) is not None:
            begin = self.at
            found.append(self.every(depth))
            if found[-1] == And(()) or found[0] == And(()):
                raise self.wrong(word, begin, "OR needs a term on both sides")
        return found[0] if len(found) == 1 else Or(tuple(found))

    def every(self, depth: int) -> Term:
        """Terms side by side, or with AND between them."""
        found: list[Term] = []
        while True:
            self.skip()
            if (word := self.keyword("AND")) is not None and not found:
                raise self.wrong(word, self.at, "AND needs a term on both sides")
            if self.is_at_end() or self.ahead("OR"):
                if word is not None:
                    raise self.wrong(word, word + 3, "AND needs a term on both sides")
                return found[0] if len(found) == 1 else And(tuple(found))
            found.append(self.one(depth))

    def one(self, depth: int) -> Term:
        """A single term, a bracket, or the opposite of one."""
        begin = self.at
        self.count += 1
        if self.count > MOST_TERMS:
            raise self.wrong(begin, begin + 1, f"the search has more than {MOST_TERMS} terms", "use the SQL page")
        is_not = self.keyword("NOT") is not None
        if is_not or self.text[self.at] == "-":
            self.at += 0 if is_not else 1
            self.skip() if is_not else None
            if self.at >= len(self.text) or self.text[self.at] in ") \t\n":
                raise self.wrong(begin, self.at, "expected a term to exclude", 'to search for it, write it as "-"')
            if depth > DEEPEST:
                raise self.wrong(begin, self.at, f"terms are nested deeper than {DEEPEST}")
            return Not(self.one(depth + 1))
        if self.text[self.at] == "(":
            self.at += 1
            term = self.either(depth + 1)
            self.close(begin)
            return term
        if (path := self.field()) is not None:
            return self.match(path, begin)
        self.at = begin
        return Text(self.value(is_free=True))

    def field(self) -> tuple[str, ...] | None:
        """The names before a colon; None if this is no field."""
        path: list[str] = []
        while True:
            if self.text[self.at : self.at + 1] == '"':
                path.append(self.quoted())
            elif match := _NAME.match(self.text, self.at):
                path += match[0].split(".")
                self.at = match.end()
            else:
                return None
            following = self.text[self.at : self.at + 1]
            if following == ":" and not self.text.startswith("://", self.at):
                self.at += 1
                return tuple(path)
            if following != ".":
                return None
            self.at += 1

    def match(self, path: tuple[str, ...], begin: int) -> Term:
        """The condition after the colon of a field."""
        if self.is_at_end() or self.text[self.at].isspace():
            hint = "write field:value, or field:* for rows that have it"
            raise self.wrong(begin, self.at, f'expected a value for "{".".join(path)}"', hint)
        if self.text[self.at] == "(":
            return self.among(path, begin)
        if compared := _COMPARED.match(self.text, self.at):
            self.at = compared.end()
            value = self.value()
            if value.is_pattern:
                raise self.wrong(value.start, value.end, f"{compared[0]} takes no wildcard")
            return Match(path, compared[0], (value,), begin, self.at)  # type: ignore[arg-type] # as the pattern has it
        value = self.value(is_range=True)
        if self.text.startswith("..", self.at):
            self.at += 2
            return Match(path, "range", (value, self.range_end(value)), begin, self.at)
        if value.parts == ("", "") and not value.is_quoted:
            return Match(path, "exists", (), begin, self.at)
        return Match(path, "=", (value,), begin, self.at)

    def range_end(self, first: Value) -> Value:
        begin = self.at
        is_open = self.is_at_end() or self.text[begin].isspace()
        last = Value(("",), False, begin, begin) if is_open else self.value(is_range=True)
        if first.is_pattern or last.is_pattern:
            raise self.wrong(first.start, self.at, "a range takes no wildcard")
        if not (first.text or first.is_quoted or last.text or last.is_quoted):
            raise self.wrong(first.start, self.at, "the range has no end", "write a..b, a.. or ..b")
        return last

    def among(self, path: tuple[str, ...], begin: int) -> Term:
        """Values in brackets behind a field, with OR between them."""
        opened = self.at
        self.at += 1
        found: list[Term] = []
        while True:
            self.skip()
            if self.is_at_end():
                break
            if found and self.keyword("OR") is None:
                raise self.wrong(self.at, self.at + 1, "expected OR between the values")
            self.skip()
            if self.is_at_end() or self.text[self.at] == "(":
                break
            value = self.value()
            found.append(Match(path, "=", (value,), begin, self.at))
        if not found or len(found) > MOST_TERMS:
            raise self.wrong(opened, self.at, "expected values in brackets", "write field:(a OR b)")
        self.close(opened)
        return found[0] if len(found) == 1 else Or(tuple(found))

    def value(self, *, is_free: bool = False, is_range: bool = False) -> Value:
        """A word, or a phrase in quotes."""
        begin = self.at
        if self.text[begin : begin + 1] == '"':
            return Value((self.quoted(),), True, begin, self.at)
        parts, text = [], ""
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign.isspace() or sign in _ENDS:
                break
            if is_range and self.text.startswith("..", self.at) and not self.text.startswith("...", self.at):
                break
            if sign == "\\" and self.at + 1 < len(self.text):
                self.at += 1
                text += self.text[self.at]
            elif sign == "*":
                parts.append(text)
                text = ""
            else:
                text += sign
            self.at += 1
        if self.at == begin and not is_range:
            raise self.wrong(begin, begin + 1, "expected a value")
        if is_free and not (text or any(parts)):
            raise self.wrong(begin, self.at, "expected a word beside *", "write field:* for rows that have a field")
        return Value((*parts, text), False, begin, self.at)

    def quoted(self) -> str:
        """The text of a phrase; a backslash keeps the next quote or backslash."""
        begin = self.at
        self.at += 1
        text = ""
        while self.at < len(self.text):
            sign = self.text[self.at]
            self.at += 1
            if sign == '"':
                return text
            if sign == "\\" and self.text[self.at : self.at + 1] in ('"', "\\"):
                sign = self.text[self.at]
                self.at += 1
            text += sign
        raise self.wrong(begin, len(self.text), "the quote is not closed", 'add " at the end')

    def close(self, opened: int) -> None:
        self.skip()
        if self.text[self.at : self.at + 1] != ")":
            raise self.wrong(opened, opened + 1, "the bracket is not closed", "add ) at the end")
        self.at += 1

    def is_at_end(self) -> bool:
        """Whether the text or a bracket ends here."""
        return self.text[self.at : self.at + 1] in ("", ")")

    def ahead(self, word: str) -> bool:
        """Whether a keyword follows: in capitals, and alone."""
        end = self.at + len(word)
        if not self.text.startswith(word, self.at):
            return False
        return end >= len(self.text) or self.text[end].isspace() or self.text[end] in "()"

    def keyword(self, word: str) -> int | None:
        """Where a keyword stood that was stepped over; None if another word follows."""
        self.skip()
        if not self.ahead(word):
            return None
        begin, self.at = self.at, self.at + len(word)
        self.skip()
        return begin

    def skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def wrong(self, start: int, end: int, message: str, hint: str = "") -> QueryError:
        return mistake(self.text, start, end, message, hint)
