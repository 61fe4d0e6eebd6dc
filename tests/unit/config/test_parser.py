from __future__ import annotations

import pytest

from tailpipe.config.parser import parse
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


def expression(text: str) -> Expression:
    """The expression that the text is, which must have no problem."""
    body, problems = parse(f"a = {text}\n")
    assert not problems, [problem.message for problem in problems]
    return body.attributes[0].value


def told(text: str) -> list[tuple[str, str]]:
    """Each problem with the text that it points at."""
    return [(problem.message, text[slice(*problem.span)]) for problem in parse(text)[1]]


def number(value: float) -> Literal:
    return Literal(value)


def test_an_empty_file_is_an_empty_body() -> None:
    assert parse("") == (Body(), [])
    assert parse("\n\n  # only a comment") == (Body(), [])


def test_a_block_has_labels_quoted_raw_or_bare() -> None:
    body, _ = parse('partition "a" `b` c {}')
    assert body.blocks == [Block("partition", [Label("a"), Label("b"), Label("c")], Body())]


def test_blocks_nest_and_keep_their_order() -> None:
    body, problems = parse('a {\n  b "x" {\n    c = 1\n  }\n  b "y" {}\n  d = 2\n}\n')
    assert not problems
    inner = [Block("b", [Label("x")], Body([Attribute("c", number(1))])), Block("b", [Label("y")], Body())]
    assert body.blocks == [Block("a", [], Body([Attribute("d", number(2))], inner))]


def test_a_block_fits_on_one_line_with_several_arguments() -> None:
    body, problems = parse('spark { master = "local" conf = {} memory = "2g" }  other {} third { a = 1 }')
    assert not problems
    assert [block.type for block in body.blocks] == ["spark", "other", "third"]
    assert [attribute.name for attribute in body.blocks[0].body.attributes] == ["master", "conf", "memory"]


@pytest.mark.parametrize(
    "text",
    [
        "# one\na = 1 # two\n# three",
        "// one\na = 1 // two\n// three",
        "/* one */ a /* two */ = /* three\n lines */ 1 /* four */",
        "/**/a = 1/***/",
        'a = 1 # a quote " and a brace { mean nothing here',
    ],
)
def test_every_style_of_comment_is_passed_over(text: str) -> None:
    assert parse(text) == (Body([Attribute("a", number(1))]), [])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-5", -5),
        ("007", 7),
        ("1.5", 1.5),
        ("-0.25", -0.25),
        ("1e3", 1000.0),
        ("2.5E-3", 0.0025),
        ("1" * 400, int("1" * 400)),
        ("true", True),
        ("false", False),
        ("null", None),
    ],
)
def test_a_literal_is_its_value(text: str, value: object) -> None:
    found = expression(text)
    assert isinstance(found, Literal)
    assert found.value == value
    assert type(found.value) is type(value)


def test_whole_numbers_stay_whole() -> None:
    assert expression("9007199254740993") == number(9007199254740993)


@pytest.mark.parametrize("text", ["5x", "1_000", "0x1F", "1.2.3", "10.0.0.1", "5.", "1e", "1.5.x"])
def test_what_only_begins_like_a_number_is_refused_whole(text: str) -> None:
    assert told(f"a = {text}\n") == [(f'"{text}" is not a number', text)]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("1 * 2 + 3", "(1 * 2) + 3"),
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("8 / 4 / 2", "(8 / 4) / 2"),
        ("7 % 4 * 2", "(7 % 4) * 2"),
        ("1 < 2 == true", "(1 < 2) == true"),
        ("1 + 1 <= 2 * 1", "(1 + 1) <= (2 * 1)"),
        ("a && b || c && d", "(a && b) || (c && d)"),
        ("a == b && c != d", "(a == b) && (c != d)"),
        ("!a && b", "(!a) && b"),
        ("-a * b", "(-a) * b"),
        ("a || b ? c : d", "(a || b) ? c : d"),
        ("a ? b : c ? d : e", "a ? b : (c ? d : e)"),
        ("a ? b ? c : d : e", "a ? (b ? c : d) : e"),
    ],
)
def test_operators_bind_as_everyone_expects(text: str, same: str) -> None:
    assert expression(text) == expression(same)


def test_a_sign_before_digits_belongs_to_the_number_and_before_anything_else_is_an_operator() -> None:
    assert expression("-5") == number(-5)
    assert expression("- 5") == Unary("-", number(5))
    assert expression("-(5)") == Unary("-", number(5))
    assert expression("1 -5") == Binary("-", number(1), number(5))
    assert expression("!!a") == Unary("!", Unary("!", Name(["a"])))


def test_names_calls_and_indexes() -> None:
    assert expression("connection.aws.prod-eu") == Name(["connection", "aws", "prod-eu"])
    assert expression('join(\n  "-",\n  [1],\n)') == Call("join", [Literal("-"), List([number(1)])])
    assert expression("f()") == Call("f", [])
    assert expression('a.b["c"][0]') == Index(Index(Name(["a", "b"]), Literal("c")), number(0))
    assert expression("f().x") == Index(Call("f", []), Literal("x"))
    assert expression("{ a = 1 }.a") == Index(Map([(Literal("a"), number(1))]), Literal("a"))


def test_lists_take_a_comma_at_the_end_and_newlines_anywhere() -> None:
    assert expression("[]") == List([])
    assert expression("[\n]") == List([])
    assert expression("[1, 2,]") == List([number(1), number(2)])
    assert expression("[ # comment\n  1,\n  // comment\n  2\n]") == List([number(1), number(2)])


def test_maps_take_equals_signs_colons_commas_and_newlines() -> None:
    pairs: list[tuple[Expression, Expression]] = [(Literal("a"), number(1)), (Literal("b c"), number(2))]
    for text in ('{ a = 1, "b c" = 2 }', '{ a : 1, "b c": 2, }', '{\n  a = 1\n  "b c" : 2\n}', '{ a = 1 "b c" = 2 }'):
        assert expression(text) == Map(pairs)


def test_a_bare_key_means_itself_and_one_in_brackets_its_value() -> None:
    assert expression("{ true = 1 }") == Map([(Literal("true"), number(1))])
    assert expression("{ (true) = 1 }") == Map([(Literal(True), number(1))])
    assert expression("{ (a.b) = 1 }") == Map([(Name(["a", "b"]), number(1))])
    assert expression("{ 5 = 1 }") == Map([(number(5), number(1))])


def test_a_value_may_go_on_behind_an_operator_a_question_mark_or_inside_brackets() -> None:
    assert expression("1 +\n  2") == Binary("+", number(1), number(2))
    assert expression("a ?\n  1 :\n  2") == Conditional(Name(["a"]), number(1), number(2))
    assert expression("(\n  1\n  + 2\n)") == Binary("+", number(1), number(2))


def test_a_newline_ends_an_argument() -> None:
    body, problems = parse("a = 1\nb = c ? 2 : 3\nd = 4\n")
    assert not problems
    assert [attribute.name for attribute in body.attributes] == ["a", "b", "d"]


def test_windows_line_ends_are_blanks() -> None:
    body, problems = parse('a {\r\n  b = [1,\r\n 2]\r\n  c = "x"\r\n}\r\n')
    assert not problems
    assert body.blocks[0].body.attributes[1].value == Literal("x")


def test_names_may_be_in_any_alphabet() -> None:
    body, problems = parse('größe = 1\nключ "ü" {}\n')
    assert not problems
    assert (body.attributes[0].name, body.blocks[0].type) == ("größe", "ключ")


def test_spans_cover_exactly_what_was_written() -> None:
    text = 'block "label" {\n  name = f(a.b, "c${d}", [1, -2])  # comment\n}\n'
    block = parse(text)[0].blocks[0]
    attribute = block.body.attributes[0]
    call = attribute.value
    assert isinstance(call, Call)
    template, numbers = call.arguments[1], call.arguments[2]
    assert isinstance(template, Template)
    assert isinstance(numbers, List)
    inner = template.parts[1]
    assert not isinstance(inner, str)
    spans = [block.span, block.labels[0].span, attribute.span, call.span, call.arguments[0].span]
    spans += [template.span, inner.span, numbers.span, numbers.items[1].span]
    assert [text[slice(*span)] for span in spans] == [
        "block",
        '"label"',
        "name",
        'f(a.b, "c${d}", [1, -2])',
        "a.b",
        '"c${d}"',
        "d",
        "[1, -2]",
        "-2",
    ]


def test_the_span_of_an_operation_goes_from_its_first_to_its_last_part() -> None:
    text = "a = 1 + 2 * x.y[0]\n"
    assert text[slice(*parse(text)[0].attributes[0].value.span)] == "1 + 2 * x.y[0]"


# After a mistake


def test_every_mistake_of_a_file_is_told_and_the_rest_survives() -> None:
    text = 'a {\n  b = "x\n  c = 1\n}\nd = = 2\ne {\n  f: 3\n  g = 4\n}\nh = 5\n'
    body, problems = parse(text)
    assert [problem.message for problem in problems] == [
        "the text is not closed on its line",
        'expected a value, got "="',
        '":" is not allowed after the argument "f"',
    ]
    assert [block.type for block in body.blocks] == ["a", "e"]
    assert [attribute.name for attribute in body.blocks[0].body.attributes] == ["c"]
    assert [attribute.name for attribute in body.blocks[1].body.attributes] == ["g"]
    assert [attribute.name for attribute in body.attributes] == ["h"]


@pytest.mark.parametrize(
    "mistake",
    [
        'x = "${1 +}"',
        'x = "a${ } b" # }',
        'x = "a\\q" ',
        'x = ["a\\q", "b"]',
        "x = [1 2]",
        "x = [\n  1\n  2\n]",
        "x = {\n  a 1\n  b = 2\n}",
        "x = { a = { b c } }",
        "x = [\n  { a 1 },\n  { b = 2 },\n]",
        "x = [1, 2",
        "x = f(1, 2",
        "x = (1 + 2",
        "x = { for a in b : c }",
        "x = [for a in b : c]",
        "x = <<A\n  ${ } {\n  A",
        'x = <<"A"\n  { {\n  A',
        "x = 1 2 3",
        "x = true ? 1",
        'x y "z',
        'x "y {\n  z = 1\n}',
        "x y.z {\n  a = 1\n}",
        "x\n{\n  a = 1\n}",
        '"x" = 1',
        "x = 'a'",
        "x == 1",
        "x: 1",
        "= 1",
        "x = ,",
    ],
)
def test_one_mistake_is_told_once_and_what_follows_is_read(mistake: str) -> None:
    body, problems = parse(f"outer {{\n  before = 1\n{mistake}\n  after = 2\n}}\nnext {{\n  good = 3\n}}\n")
    assert len(problems) == 1, [problem.message for problem in problems]
    assert [block.type for block in body.blocks] == ["outer", "next"]
    outer, following = body.blocks
    assert outer.body.is_broken
    assert "before" in [attribute.name for attribute in outer.body.attributes]
    assert [attribute.name for attribute in following.body.attributes] == ["good"]
    assert not following.body.is_broken


@pytest.mark.parametrize("mistake", ["x = `abc", "x = <<EOT\nabc", "/* abc", "x = [1,", "x = {", "x = f("])
def test_what_is_never_closed_is_told_alone_though_it_swallows_the_rest(mistake: str) -> None:
    body, problems = parse(f"outer {{\n  before = 1\n  {mistake}\n")
    assert len(problems) == 1
    assert "is not closed" in problems[0].message
    assert [attribute.name for attribute in body.blocks[0].body.attributes] == ["before"]


def test_a_block_that_is_not_closed_is_told_at_its_brace() -> None:
    assert told("a {\n  b = 1\n") == [('the block "a" is not closed', "{")]


def test_braces_that_close_nothing_are_told_once_for_each_run() -> None:
    assert told("} }\na = 1\n}\n") == [('"}" has no matching "{"', "} }"), ('"}" has no matching "{"', "}")]


def test_a_far_beginning_is_noted() -> None:
    _, problems = parse("a = [\n  1\n  2\n]\n")
    assert problems[0].note == ("the list begins here", (4, 5))
    assert parse("a = [1 2]")[1][0].note is None


# However large


def test_a_hundred_thousand_open_brackets_are_one_problem() -> None:
    for bracket in "[({-!":
        _, problems = parse("a = " + bracket * 100_000)
        assert [problem.message for problem in problems] == ["nested deeper than 64 levels"]


def test_a_hundred_thousand_open_texts_and_blocks_are_refused_too() -> None:
    assert parse("a = " + '"${' * 100_000)[1][0].message == "nested deeper than 64 levels"
    messages = {problem.message for problem in parse("a {\n" * 100_000)[1]}
    assert messages == {"nested deeper than 64 levels", 'the block "a" is not closed'}


@pytest.mark.parametrize("chain", ["1 + ", "x[0]", "x.", "a ? b : "])
def test_a_very_long_chain_is_refused_and_not_a_crash(chain: str) -> None:
    _, problems = parse("a = " + chain * 50_000 + "1")
    assert len(problems) == 1


def test_a_long_line_is_read() -> None:
    text = "x" * 300_000
    assert expression(f'"{text}"') == Literal(text)
    assert expression('"' + "\\t" * 500_000 + '"') == Literal("\t" * 500_000)
    found = expression("[" + "1, " * 300_000 + "]")
    assert isinstance(found, List)
    assert len(found.items) == 300_000


def test_a_megabyte_of_open_comments_is_one_problem() -> None:
    assert len(parse("= " + "/* " * 300_000)[1]) == 1


def test_a_chain_up_to_the_limit_is_read() -> None:
    assert expression("1" + " + 1" * 64)
    assert told("a = 1" + " + 1" * 65) == [("more than 64 operators in a row", "+")]
