"""The grammar of the search box."""

from __future__ import annotations

import pytest

from tailpipe.errors import QueryError
from tailpipe.serve.terms import And, Match, Not, Term, Text, parse_terms


def plain(term: Term) -> object:
    """A tree without places."""
    if isinstance(term, Text):
        return ("~", term.value.text, term.value.is_quoted)
    if isinstance(term, Match):
        values = tuple(f'"{one.text}"' if one.is_quoted else one.text for one in term.values)
        return (".".join(term.path), term.operator, *values)
    if isinstance(term, Not):
        return ("not", plain(term.term))
    return ("and" if isinstance(term, And) else "or", *(plain(one) for one in term.terms))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", ("and",)),
        ("   ", ("and",)),
        ("error", ("~", "error", False)),
        ('"two words"', ("~", "two words", True)),
        ("status:500", ("status", "=", "500")),
        ("status:>=500", ("status", ">=", "500")),
        ("status:=500", ("status", "=", "500")),
        ("status:400..499", ("status", "range", "400", "499")),
        ("status:400..", ("status", "range", "400", "")),
        ("status:..499", ("status", "range", "", "499")),
        ("user:*", ("user", "exists")),
        ("path:/login*", ("path", "=", "/login*")),
        ('user:"a \\" b"', ("user", "=", '"a " b"')),
        (r"path:a\*b", ("path", "=", "a*b")),
        ("a.b.c:1", ("a.b.c", "=", "1")),
        ('"odd name".x:1', ("odd name.x", "=", "1")),
        ("-method:GET", ("not", ("method", "=", "GET"))),
        ("NOT method:GET", ("not", ("method", "=", "GET"))),
        ("--x", ("not", ("not", ("~", "x", False)))),
        ("a b", ("and", ("~", "a", False), ("~", "b", False))),
        ("a AND b", ("and", ("~", "a", False), ("~", "b", False))),
        ("a OR b c", ("or", ("~", "a", False), ("and", ("~", "b", False), ("~", "c", False)))),
        ("(a OR b) c", ("and", ("or", ("~", "a", False), ("~", "b", False)), ("~", "c", False))),
        ("user:(a OR b)", ("or", ("user", "=", "a"), ("user", "=", "b"))),
        ("ip:2001:db8::1", ("ip", "=", "2001:db8::1")),
        ("https://x.example/", ("~", "https://x.example/", False)),
        ("10:30", ("~", "10:30", False)),
        ("ORDER", ("~", "ORDER", False)),
        ("Straße:ä", ("Straße", "=", "ä")),
        ("version:1.2.3", ("version", "=", "1.2.3")),
    ],
)
def test_a_text_becomes_a_tree(text: str, tree: object) -> None:
    assert plain(parse_terms(text)) == tree


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("status:", 'expected a value for "status"', 1),
        ("a status: b", 'expected a value for "status"', 3),
        ('user:"x', "the quote is not closed", 6),
        ("(a b", "the bracket is not closed", 1),
        ("a ) b", "unexpected )", 3),
        ("a OR", "OR needs a term on both sides", 3),
        ("OR a", "OR needs a term on both sides", 1),
        ("AND a", "AND needs a term on both sides", 1),
        ("a AND", "AND needs a term on both sides", 3),
        ("a -", "expected a term to exclude", 3),
        ("status:>5*", "> takes no wildcard", 9),
        ("status:>", "expected a value", 9),
        ("status:..", "the range has no end", 8),
        ("x:(a b)", "expected OR between the values", 6),
        ("x:()", "expected values in brackets", 3),
        ("*", "expected a word beside *", 1),
        ("a\0b", "the search holds the character NUL", 2),
        ("(" * 60, "brackets are nested deeper than 40", 42),
        ("a " * 300, "the search has more than 200 terms", 401),
        ("x" * 5000, "the search is longer than 4,000 characters", 1),
    ],
)
def test_a_mistake_has_a_message_and_a_place(text: str, message: str, column: int) -> None:
    with pytest.raises(QueryError) as caught:
        parse_terms(text)
    assert caught.value.message == message
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (1, column)
