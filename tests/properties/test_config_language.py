"""Whatever a file holds, the language reads it or says why not; and what it prints, it reads back."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailpipe.config.builder import build_config
from tailpipe.config.diagnostics import render_diagnostics
from tailpipe.config.parser import parse
from tailpipe.config.printer import print_body
from tailpipe.config.syntax import (
    Attribute,
    Binary,
    Block,
    Body,
    Call,
    Conditional,
    Expression,
    Index,
    Label,
    List,
    Literal,
    Map,
    Name,
    Template,
    Unary,
)
from tailpipe.config.text import ConfigText
from tailpipe.errors import ConfigError, Diagnostic
from tests.examples import examples
from tests.unit.config.test_golden_configs import GOLDEN
from tests.unit.config.world import AROUND, REGISTRY

quick = settings(
    max_examples=examples(200),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

# Text that no one would write, and text made of what people write

WORDS = (
    "workspace connection format table partition schema source column spark multiline aws acme jsonl file regex "
    "web_log acme_event_log default tp_timestamp name location region token type paths streams layout tables from "
    "where true false null for in env timestamp timeadd formatdate join split file jsondecode format replace coalesce "
    '" " " ` ` $ ${ } } { { [ ] ( ) = = == != <= && || ! ? : , . + - * / % < > << <<EOT <<-EOT EOT # // /* */ \\ \\n '
    "\\u \\d 0 1 -5 1.5 1e9 1e400 007 é 日本 \x00 \x1b \ufeff \u202e"
)
TOKENS = WORDS.split(" ")
OPERATORS = ["||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"]
pieces = st.tuples(st.sampled_from(TOKENS), st.sampled_from(["", " ", " ", "\n"]))
soup = st.lists(pieces, max_size=60).map(lambda pairs: "".join(token + blank for token, blank in pairs))
GOOD = "\n".join(path.read_text() for path in sorted((GOLDEN / "everything").glob("*.tpc")))


@st.composite
def spoilt(draw: st.DrawFn) -> str:
    """A good config with a piece cut out, and something else put there."""
    start = draw(st.integers(0, len(GOOD)))
    end = min(len(GOOD), start + draw(st.integers(0, 30)))
    return GOOD[:start] + draw(st.sampled_from(["", *TOKENS])) + GOOD[end:]


any_text = st.one_of(st.text(), soup, spoilt())


@quick
@given(any_text)
def test_the_parser_never_raises_and_every_problem_has_its_place(text: str) -> None:
    _, problems = parse(text)
    file = ConfigText("a.tpc", text)
    for problem in problems:
        start, end = problem.span
        assert 0 <= start < end
        assert start <= len(text)
        place = file.place(problem.span)
        assert 1 <= place.line <= text.count("\n") + 1
        assert 1 <= place.column <= len(place.text) + 2  # a \r at the end of a line is not shown


@quick
@given(st.lists(any_text, min_size=1, max_size=2))
def test_building_never_raises_anything_but_its_problems_which_can_be_shown(texts: list[str]) -> None:
    files = [ConfigText(f"{number}.tpc", text) for number, text in enumerate(texts)]
    found: tuple[Diagnostic, ...] = ()
    try:
        build_config(files, REGISTRY, AROUND)
    except ConfigError as error:
        found = error.diagnostics
    assert all(diagnostic.message for diagnostic in found)
    assert render_diagnostics(found).replace("\n", "").isprintable()


@quick
@given(st.text(max_size=30), st.sampled_from(["\n", "\r\n"]))
def test_what_stands_before_and_behind_a_mistake_is_read(garbage: str, end: str) -> None:
    line = garbage.translate({ord(c): None for c in '\n`"{}[]()<>/#*$'})
    before, after = 'schema "a" {}', 'schema "b" {}'
    body, _ = parse(f"{before}{end}{line}{end}{after}{end}")
    assert [block.labels[0].text for block in body.blocks if block.labels][:1] == ["a"]
    assert [block.labels[-1].text for block in body.blocks if block.labels][-1:] == ["b"]


# Trees


words = st.from_regex(r"[^\W\d][\w-]{0,6}", fullmatch=True).filter(lambda word: word not in ("true", "false", "null"))
numbers = st.one_of(st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False))
literals = st.one_of(st.text(max_size=12), numbers, st.booleans(), st.none()).map(Literal)
names = st.lists(words, min_size=1, max_size=4).map(Name)


def _template(pieces: list[tuple[str, Expression]], tail: str) -> Template:
    parts: list[str | Expression] = []
    for text, value in pieces:
        parts += [text, value] if text else [value]
    return Template([*parts, tail] if tail else parts)


def _larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    parts = st.lists(st.tuples(st.text(max_size=6), inner), min_size=1, max_size=3)
    return st.one_of(
        st.lists(inner, max_size=3).map(List),
        st.lists(st.tuples(inner, inner), max_size=3).map(Map),
        st.builds(_template, parts, st.text(max_size=6)),
        st.builds(Index, inner, inner),
        st.builds(Call, words, st.lists(inner, max_size=3)),
        st.builds(Unary, st.sampled_from(["-", "!"]), inner),
        st.builds(Binary, st.sampled_from(OPERATORS), inner, inner),
        st.builds(Conditional, inner, inner, inner),
    )


leaves: st.SearchStrategy[Expression] = st.one_of(literals, names)
expressions: st.SearchStrategy[Expression] = st.recursive(leaves, _larger, max_leaves=12)
attributes = st.lists(st.builds(Attribute, words, expressions), max_size=3)
labels = st.lists(st.text(max_size=8).map(Label), max_size=3)
bodies: st.SearchStrategy[Body] = st.recursive(
    st.builds(Body, attributes, st.just([])),
    lambda inner: st.builds(Body, attributes, st.lists(st.builds(Block, words, labels, inner), max_size=2)),
    max_leaves=4,
)


@quick
@given(bodies)
def test_a_printed_tree_is_read_as_the_same_tree(body: Body) -> None:
    text = print_body(body)
    again, problems = parse(text)
    assert not problems
    assert again == body
    assert print_body(again) == text
