"""The formats of the plugin `core`: what is there, and which options are refused before anything runs."""

from __future__ import annotations

import pickle
import warnings

import pytest

from tailpipe.errors import UsageError
from tailpipe.formats import (
    Delimited,
    Grok,
    Json,
    Jsonl,
    Logfmt,
    Multiline,
    Parquet,
    Regex,
    Syslog,
)
from tailpipe.model.option import description_of, options_of, type_name
from tailpipe.plugin import Format, Registry
from tailpipe.plugins.core import plugin

FORMATS = plugin.loaded("format")
PRESETS = plugin.loaded("preset")
TEXT_FORMATS = [Delimited, Grok, Json, Jsonl, Logfmt, Regex, Syslog]


def check(declared: type, name: str, value: object) -> None:
    checked = options_of(declared)[name].check
    assert checked is not None
    checked(value)


def refusal(declared: type, name: str, value: object) -> UsageError:
    with pytest.raises(UsageError) as refused:
        check(declared, name, value)
    return refused.value


def test_the_promised_formats_are_there() -> None:
    names = [
        "apache_access_log",
        "auditd",
        "cef",
        "cri",
        "csv",
        "delimited",
        "docker",
        "evtx",
        "first_byte",
        "grok",
        "journald",
        "json",
        "jsonl",
        "leef",
        "logfmt",
        "mysql_slow_log",
        "nginx_access_log",
        "parquet",
        "postgresql_log",
        "regex",
        "syslog",
        "w3c",
        "zeek",
    ]
    assert sorted(Registry([plugin]).formats) == names
    assert [declared.type for declared in FORMATS] == names


def test_the_promised_presets_are_there() -> None:
    presets = Registry([plugin]).presets
    assert sorted(presets) == [
        "apache_access_log.combined",
        "apache_access_log.common",
        "apache_access_log.vhost_combined",
        "apache_access_log.vhost_common",
        "auditd.default",
        "cef.default",
        "cri.default",
        "csv.default",
        "delimited.csv",
        "delimited.default",
        "delimited.w3c",
        "docker.default",
        "evtx.default",
        "journald.default",
        "json.default",
        "jsonl.default",
        "leef.default",
        "logfmt.default",
        "mysql_slow_log.default",
        "nginx_access_log.combined",
        "parquet.default",
        "postgresql_log.default",
        "syslog.default",
        "w3c.default",
        "zeek.default",
    ]
    assert presets["delimited.csv"] == Delimited(
        name="csv", description="Comma-separated values with a header line.", header=True
    )
    assert isinstance(presets["delimited.default"], Delimited)
    assert presets["delimited.default"].header is None
    assert isinstance(presets["jsonl.default"], Jsonl)
    assert isinstance(presets["syslog.default"], Syslog)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.address)
def test_a_preset_is_described_named_like_its_type_and_travels(preset: Format) -> None:
    assert preset.description
    assert preset.address == f"format.{preset.type}.{preset.name}"
    assert pickle.loads(pickle.dumps(preset)) == preset


@pytest.mark.parametrize("declared", FORMATS, ids=lambda declared: declared.type)
def test_every_format_and_option_is_described(declared: type[Format]) -> None:
    assert description_of(declared)
    for option in options_of(declared).values():
        assert option.description.endswith(".")
        assert type_name(option.annotation)
    assert "description" in options_of(declared)


def test_few_formats_have_required_options() -> None:
    required = {d.type: [o.name for o in options_of(d).values() if o.is_required] for d in FORMATS}
    assert {name: options for name, options in required.items() if options} == {
        "first_byte": ["formats", "otherwise"],
        "grok": ["layout"],
        "regex": ["layout"],
    }


@pytest.mark.parametrize("declared", FORMATS, ids=lambda declared: declared.type)
def test_a_default_passes_its_own_check(declared: type[Format]) -> None:
    for option in options_of(declared).values():
        if option.check is not None and not option.is_required and option.default is not None:
            option.check(option.default)


# Layouts


@pytest.mark.parametrize(
    "layout",
    [
        r"(?P<ip>\S+) (?P<rest>.*)",
        r"^(a|b) (?P<x>\d+)$",
        "(?P<x>[[:alpha:]]+)",
        r"(?P<time>\[[^\]]+\])",
    ],
)
def test_a_regular_expression_with_a_named_group_is_taken_without_a_word(layout: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(Regex, "layout", layout)


@pytest.mark.parametrize(
    ("layout", "message", "hint"),
    [
        ("(?P<x>", 'not a regular expression: a "(" is not closed, at character 1', ""),
        ("[", 'not a regular expression: a "[" is not closed, at character 1', ""),
        (
            "(?P<x>a{1001})",
            "not a regular expression for DuckDB: {1001} repeats more than 1000 times",
            "write + or * instead",
        ),
        ("(?P<x>a)(?P<x>b)", 'the field "x" is duplicated', ""),
        ("(" * 5000 + ")" * 5000, "not a regular expression: it is nested too deep", ""),
        ("(a) (b)", "the groups have no names", "write (?P<name>…)"),
        ("a b", "the layout has no named group, so no field", "write (?P<name>…)"),
        ("", "the layout has no named group, so no field", "write (?P<name>…)"),
    ],
)
def test_a_layout_that_gives_no_fields_is_refused(layout: str, message: str, hint: str) -> None:
    refused = refusal(Regex, "layout", layout)
    assert refused.message.startswith(message)
    assert refused.hint == hint


@pytest.mark.parametrize("layout", ["%{IP:ip} %{GREEDYDATA:rest}", "%{YEAR:year}", "(?P<x>a)", "(?<x>a)"])
def test_a_grok_layout_with_a_named_pattern_is_taken(layout: str) -> None:
    check(Grok, "layout", layout)


@pytest.mark.parametrize("layout", ["", "plain", "%{IP}", "(a)"])
def test_a_grok_layout_that_gives_no_fields_is_refused(layout: str) -> None:
    with pytest.raises(UsageError) as refused:  # by the whole: a pattern of the user's own could have brought a field
        Grok(layout=layout)
    assert refused.value.message == "the layout has no named pattern, so no field"
    assert refused.value.hint == "write %{PATTERN:name}"


@pytest.mark.parametrize("start", [r"^\d{4}-", "^(ERROR|WARN)", "^(?P<level>[A-Z]+)"])
def test_the_start_of_an_event_may_be_any_regular_expression(start: str) -> None:
    check(Multiline, "start", start)


def test_a_start_that_is_no_regular_expression_is_refused() -> None:
    assert refusal(Multiline, "start", "(").message.startswith("not a regular expression: ")


# The other options


@pytest.mark.parametrize("declared", TEXT_FORMATS, ids=lambda declared: declared.type)
@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "Europe", "../etc/passwd", "/etc/passwd", "UTC\0", "+02:00 "])
def test_a_time_zone_that_there_is_not_is_refused(declared: type[Format], zone: str) -> None:
    refused = refusal(declared, "timezone", zone)
    assert refused.message == f'there is no time zone "{zone}"'
    assert refused.hint == "use a name such as Europe/Berlin"


@pytest.mark.parametrize("declared", TEXT_FORMATS, ids=lambda declared: declared.type)
def test_every_format_of_text_takes_a_time_zone_and_an_encoding(declared: type[Format]) -> None:
    check(declared, "timezone", "Europe/Berlin")
    check(declared, "timezone", "UTC")
    assert type_name(options_of(declared)["encoding"].annotation) == '"utf-8" | "utf-16" | "latin-1"'
    assert options_of(declared)["encoding"].default == "utf-8"


def test_parquet_is_taken_as_it_is() -> None:
    assert list(options_of(Parquet)) == ["name", "description"]


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_of_nothing_is_refused(size: int) -> None:
    check(Json, "max_document_bytes", 1)
    assert refusal(Json, "max_document_bytes", size).message == "a size must be above 0"


@pytest.mark.parametrize("value", [",", "\t", "||", r"\s+", "§"])
def test_a_delimiter_may_be_any_text(value: str) -> None:
    check(Delimited, "delimiter", value)


@pytest.mark.parametrize("name", ["delimiter", "comment"])
@pytest.mark.parametrize("value", ["", "\n", "a\nb"])
def test_an_empty_delimiter_or_comment_is_refused(name: str, value: str) -> None:
    assert refusal(Delimited, name, value).message == "expected one or more characters, on one line"


@pytest.mark.parametrize("name", ["quote", "escape"])
def test_a_quote_is_one_character_or_none(name: str) -> None:
    for value in ("", '"', "'", "\\"):
        check(Delimited, name, value)
    assert refusal(Delimited, name, "''").message == "expected a single character or empty text"


def test_no_fewer_than_no_lines_can_be_left_out() -> None:
    check(Delimited, "skip_lines", 3)
    assert refusal(Delimited, "skip_lines", -1).message == "a count must be at least 0"


def test_the_names_of_fields_differ_and_are_not_empty() -> None:
    check(Delimited, "fields", ("a", "b", "c d"))
    assert refusal(Delimited, "fields", ("a", "b", "A")).message == 'the field "A" is duplicated'
    assert refusal(Delimited, "fields", ("a", "")).message == "a field needs a name"


def test_syslog_expects_either_rfc_unless_it_is_told_which() -> None:
    assert Syslog().rfc == "auto"
    assert type_name(options_of(Syslog)["rfc"].annotation) == '"auto" | "3164" | "5424"'


def test_lines_can_be_joined_to_events_where_lines_are_taken_apart() -> None:
    for declared in (Regex, Grok):
        multiline = options_of(declared)["multiline"]
        assert (multiline.kind, multiline.block, multiline.default) == ("block", "multiline", None)
    layout = Regex(name="java", layout="(?P<x>.)", multiline=Multiline(start=r"^\d"))
    assert pickle.loads(pickle.dumps(layout)) == layout
