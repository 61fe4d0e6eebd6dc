"""Saved queries: SQL under a name, with a title and declared parameters; and how a `.sql` file states one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.names import check_reference_name
from tailpipe.model.nearest import did_you_mean, nearest
from tailpipe.model.option import Declared, fact, label, nested, option
from tailpipe.model.parameter import Parameter, check_parameter_type, names_in

_KEYS = ("title", "description", "tags", "param")
_FRONT = re.compile(r"--[ \t]*(?P<key>[A-Za-z_]+)[ \t]*:[ \t]*(?P<value>[^\n]*?)[ \t\r]*(?:\n|$)")
_PARAM = re.compile(
    r"(?P<name>\w+)[ \t]+(?P<type>[A-Za-z]+(?:\([^)]*\))?)"
    r"(?:[ \t]*=[ \t]*(?:'(?P<quoted>(?:[^']|'')*)'|(?P<bare>[^\s':][^\s']*)))?"
    r"(?:[ \t]*:[ \t]+(?P<description>.+))?"
)
_PARAM_FORM = "write -- param: NAME TYPE = DEFAULT : DESCRIPTION; a default with spaces stands in single quotes"

_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""For defaults such as `T-7d`, which fit at any time."""

Span = tuple[int, int]


@frozen
class Flaw:
    """What is wrong with a saved query; `span` is where, in its file or SQL, or where its parameter `name` is."""

    message: str
    span: Span = (0, 0)
    hint: str = ""
    name: str = ""


class SavedQuery(Declared):
    """SQL under a name, to be run by it."""

    name: str = label("Name of the query, as the command line spells it.", check=check_reference_name)
    title: str | None = option("What the query answers, in a few words.", default=None)
    description: str | None = option("What the answer means, in a sentence or two.", default=None)
    sql: str | None = option("The statement.", default=None)
    file: str | None = option("File with the statement, relative to the config file; `~` is allowed.", default=None)
    tags: Sequence[str] = option("Words that select queries.", default=())
    params: Sequence[Parameter] = nested("The parameters of the statement.", block="param", default=())
    statement: str = fact("The statement that `file` holds.", default="")
    line: int = fact("Lines of the file before the statement.", default=0)
    origin: str = fact("The `.sql` file that states the whole query; empty for one of the config.", default="")

    @property
    def text(self) -> str:
        """The statement, from the config or from the file."""
        return self.sql if self.sql is not None else self.statement

    def values(self, given: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
        """The values to bind, of the declared types: those given, else the defaults."""
        declared = {one.name.lower(): one for one in self.params}
        values: dict[str, Any] = {}
        for name, value in given.items():
            if (parameter := declared.get(name.lower())) is None:
                there = "there are: " + ", ".join(one.name for one in self.params) if self.params else "it has none"
                hint = did_you_mean(name, [one.name for one in self.params], there)
                raise UsageError(f'the query "{self.name}" has no parameter "{name}"', hint=hint)
            values[parameter.name] = parameter.value(value, now=now)
        for parameter in self.params:
            if parameter.name in values:
                continue
            if parameter.default is None:
                about = f" ({parameter.description})" if parameter.description else ""
                hint = f"give one: --param {parameter.name}=VALUE{about}"
                raise UsageError(f'the parameter "{parameter.name}" of "{self.name}" has no value', hint=hint)
            values[parameter.name] = parameter.value(parameter.default, now=now)
        return values


class QueryDirectory(Declared):
    """A directory of `.sql` files, each a saved query."""

    name: str = label("Name of the directory, for messages.", check=check_reference_name)
    path: str = option("The directory, relative to the config file; `~` is allowed.")


def read_saved(name: str, text: str) -> tuple[SavedQuery, list[Flaw]]:
    """The query that a `.sql` file states: comments of the form `-- key: value` at its top, then the statement.

    Other comments may stand among them. What is wrong is told with its place, and left out.
    """
    flaws: list[Flaw] = []
    facts: dict[str, str] = {}
    params: list[Parameter] = []
    position = 0
    while (end := _comment_end(text, position)) is not None:
        match = _FRONT.match(text, position)
        if match is not None and match["key"].lower() in _KEYS:
            key, value, span = match["key"].lower(), match["value"], match.span("value")
            if key == "param":
                flaws += _read_param(value, span, params)
            elif key in facts and key == "description":
                facts[key] += f" {value}"
            elif key in facts:
                flaws.append(Flaw(f'"{key}" is duplicated', span, "remove one"))
            elif value:
                facts[key] = value
        position = end
    statement = text[position:].strip()
    query = SavedQuery(
        name=name,
        title=facts.get("title"),
        description=facts.get("description"),
        tags=tuple(tag for tag in re.split(r"[,\s]+", facts.get("tags", "")) if tag),
        params=tuple(params),
        statement=statement,
        line=text[: len(text) - len(text[position:].lstrip())].count("\n"),
    )
    if not statement:
        flaws.append(Flaw("there is no statement in the file", (0, 1), "write one below the comments"))
    begin = text.find(statement, position)
    for flaw in parameter_flaws(query, "-- param: {} TYPE"):
        span = (begin + flaw.span[0], begin + flaw.span[1]) if flaw.span != (0, 0) else _declared(text, flaw.name)
        flaws.append(Flaw(flaw.message, span, flaw.hint, flaw.name))
    return query, flaws


def _comment_end(text: str, position: int) -> int | None:
    """Where the line behind a comment or an empty line begins; None if the statement begins here."""
    end = text.find("\n", position)
    line = text[position : None if end < 0 else end]
    if position >= len(text) or not (line.startswith("--") or not line.strip()):
        return None
    return len(text) if end < 0 else end + 1


def _read_param(value: str, span: Span, params: list[Parameter]) -> list[Flaw]:
    match = _PARAM.fullmatch(value)
    if match is None:
        return [Flaw("a parameter is not written like this", span, _PARAM_FORM)]
    bare, quoted = match["bare"], match["quoted"]
    default = quoted.replace("''", "'") if quoted is not None else bare
    try:
        check_parameter_type(match["type"])
    except UsageError as error:
        start, end = match.span("type")
        return [Flaw(error.message, (span[0] + start, span[0] + end), error.hint)]
    params.append(Parameter(name=match["name"], type=match["type"], default=default, description=match["description"]))
    return []


def _declared(text: str, name: str) -> Span:
    """Where the front matter declares a parameter; of two, where the second one is."""
    found = list(re.finditer(rf"^--[ \t]*param[ \t]*:[ \t]*({re.escape(name)})\b", text, re.MULTILINE | re.IGNORECASE))
    return found[-1].span(1) if found else (0, 1)


def parameter_flaws(query: SavedQuery, form: str) -> list[Flaw]:
    """Checks across parameters: names that do not match the statement, names twice, defaults that do not fit.

    Spans are those of the statement; where the declaration is wrong, there is none. `form` is how one is declared.
    """
    flaws: list[Flaw] = []
    declared: dict[str, Parameter] = {}
    for parameter in query.params:
        if parameter.name.lower() in declared:
            flaws.append(Flaw(f'the parameter "{parameter.name}" is duplicated', name=parameter.name))
        declared.setdefault(parameter.name.lower(), parameter)
    used, meant = names_in(query.text), set()
    for one in {one.name.lower(): one for one in reversed(used)}.values():
        if one.name.lower() not in declared:
            near = nearest(one.name, [parameter.name for parameter in query.params])
            meant.add((near or "").lower())
            hint = f'did you mean "{near}"?' if near else "declare it: " + form.format(one.name)
            flaws.append(Flaw(f'unknown parameter "{one.name}"', (one.start, one.end), hint, one.name))
    names = {one.name.lower() for one in used}
    for lower, parameter in declared.items():
        if lower not in names | meant and query.text:
            hint = f"write ${parameter.name} in it, or remove the parameter"
            message = f'the statement does not use the parameter "{parameter.name}"'
            flaws.append(Flaw(message, hint=hint, name=parameter.name))
        try:
            parameter.value(parameter.default, now=_SOME_TIME)
        except UsageError as error:
            flaws.append(Flaw(f"the default of {error.message}", hint=error.hint, name=parameter.name))
    return flaws
