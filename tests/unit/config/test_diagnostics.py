from __future__ import annotations

from tailpipe.config.diagnostics import render_diagnostic, render_diagnostics
from tailpipe.errors import Diagnostic, Note, Place


def render(text: str, column: int, length: int = 1, *, line: int = 1, hint: str = "") -> list[str]:
    return render_diagnostic(Diagnostic("wrong", Place("a.tpc", line, column, length, text), hint)).splitlines()


def test_a_diagnostic_shows_message_place_line_caret_and_hint() -> None:
    place = Place("aws.tpc", 12, 5, 7, '    buckett = "my-logs"')
    found = Diagnostic('unknown argument "buckett" in source "aws_s3_bucket"', place, 'did you mean "bucket"?')
    assert render_diagnostic(found) == (
        'error: unknown argument "buckett" in source "aws_s3_bucket"\n'
        "  --> aws.tpc:12:5\n"
        "   |\n"
        '12 |     buckett = "my-logs"\n'
        '   |     ^^^^^^^ did you mean "bucket"?\n'
    )


def test_notes_stand_below() -> None:
    note = Note("first defined here", Place("b.tpc", 3, 1))
    found = Diagnostic("defined twice", Place("a.tpc", 1, 1, 1, "x"), "", (note,))
    assert render_diagnostic(found).splitlines()[-1] == "  --> b.tpc:3:1: first defined here"


def test_a_place_without_a_line_shows_the_file_and_the_hint() -> None:
    assert render_diagnostic(Diagnostic("cannot read", Place("a.tpc", 0, 0), "mend it")) == (
        "error: cannot read\n  --> a.tpc\n  = mend it\n"
    )
    assert render_diagnostic(Diagnostic("cannot read", Place("a.tpc", 0, 0))) == "error: cannot read\n  --> a.tpc\n"


def test_several_have_a_blank_line_between() -> None:
    found = Diagnostic("wrong", Place("a.tpc", 0, 0))
    assert render_diagnostics([found, found]) == "error: wrong\n  --> a.tpc\n\nerror: wrong\n  --> a.tpc\n"
    assert render_diagnostics([]) == ""


def test_the_caret_stands_under_what_it_means_behind_wide_characters() -> None:
    *_, line, carets = render('名前 = "x"', 6, 3)
    assert line == '1 | 名前 = "x"'
    assert carets == "  |        ^^^"


def test_carets_are_as_wide_as_what_they_mark() -> None:
    assert render('x = "日本"', 5, 4)[-1] == "  |     ^^^^^^"


def test_combining_characters_take_no_column() -> None:
    assert render("e\u0301 = x", 6, 1)[-1] == "  |     ^"


def test_tabs_are_one_blank_and_control_characters_are_spelt_out() -> None:
    *_, line, carets = render('\ta\x1b[31m = "b"', 11, 3)
    assert line == '1 |  a\\u001b[31m = "b"'
    assert carets == "  |                ^^^"


def test_nothing_in_a_message_or_hint_can_steer_a_terminal() -> None:
    found = Diagnostic("a\x1b[31m\nb", Place("\x1b.tpc", 1, 1, 1, "x"), "c\x07\u202e")
    assert "\x1b" not in render_diagnostic(found)
    assert "\x07" not in render_diagnostic(found)
    assert "\u202e" not in render_diagnostic(found)
    assert len(render_diagnostic(found).splitlines()) == 5


def test_a_long_line_is_cut_around_the_caret() -> None:
    text = "a" * 500 + "MARK" + "b" * 500
    *_, line, carets = render(text, 501, 4)
    assert line == "1 | …" + "a" * 40 + "MARK" + "b" * 56 + "…"
    assert carets == "  | " + " " * 41 + "^^^^"


def test_a_long_line_is_not_cut_before_an_early_caret() -> None:
    *_, line, carets = render("MARK" + "b" * 500, 1, 4)
    assert line == "1 | MARK" + "b" * 96 + "…"
    assert carets == "  | ^^^^"


def test_a_long_mark_ends_with_the_line_that_is_shown() -> None:
    *_, line, carets = render("x" * 1_000_000, 1, 1_000_000)
    assert line == "1 | " + "x" * 100 + "…"
    assert carets == "  | " + "^" * 100


def test_a_caret_behind_the_end_is_shown() -> None:
    assert render("x =", 4)[-1] == "  |    ^"


def test_a_message_that_quotes_a_megabyte_is_cut() -> None:
    shown = render_diagnostic(Diagnostic("x" * 1_000_000, Place("a.tpc", 1, 1, 1, "x"), "y" * 1_000_000))
    assert len(shown) < 1000
    assert shown.splitlines()[0].endswith("…")
