"""Where DuckDB and Spark mean different things by the same words: such words are put in others, or refused.

A function that is not known to give the same answer on both is refused: a statement that fails can be run without
Spark, a wrong answer cannot be seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp
from sqlglot.expressions import Expr

from tailpipe.query.allowed import SAME, refused

_NUMBERS = ("FLOAT", "DOUBLE", "DECIMAL")
"""Types of numbers that may have something behind the point; the first two are rounded to the even one."""
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "UTINYINT", "USMALLINT", "UINT", "UBIGINT", "INT128"})
_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})
_PARTS = frozenset({"YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "DOY"})
_CODES = frozenset("YmdHMSbBpIfy")
_STEP = re.compile(r'\.(?:"(?P<quoted>[^"\\]+)"|(?P<plain>[^."\[\\]+))|\[(?P<index>\d+)\]')


def reconcile(statement: Expr, types: Mapping[str, str]) -> Expr:
    """The statement in words that mean the same on Spark; `types` are those of the columns, by name in lower case."""
    for select in statement.find_all(exp.Select):
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise refused("DISTINCT ON", "write: QUALIFY row_number() OVER (PARTITION BY …) = 1")
        _write_out_windows(select)
    aliases: dict[str, list[Expr]] = {}
    for alias in statement.find_all(exp.Alias):
        aliases.setdefault(alias.alias.lower(), []).append(alias.this)
    kinds = _Kinds(types, aliases)
    for node in reversed(list(statement.walk())):  # what is inside comes before what is around it
        _check(node, kinds)
        rewritten = _rewritten(node, kinds)
        if rewritten is not node:
            statement = rewritten if node is statement else statement
            node.replace(rewritten)
    return statement


def _write_out_windows(select: Expr) -> None:
    """Put the windows of a WINDOW clause where they are used: Spark does not show what is in such a clause."""
    named = {window.name.lower(): window for window in select.args.get("windows") or ()}
    select.set("windows", None)
    for window in select.find_all(exp.Window) if named else ():
        meant = named.get(window.text("alias").lower())
        if meant is not None and window.parent_select is select:
            if any(window.args.get(key) for key in ("partition_by", "order", "spec")) or meant.args.get("alias"):
                raise refused("a window that builds on another")
            for key in ("partition_by", "order", "spec"):
                value = meant.args.get(key)
                copied = [one.copy() for one in value] if isinstance(value, list) else value and value.copy()
                window.set(key, copied)
            window.set("alias", None)


def _check(node: Expr, kinds: _Kinds) -> None:
    """Refuse what is not known to give the same answer."""
    if isinstance(node, exp.Anonymous):
        if node.name.lower() != "now":
            raise refused(node.name.lower())
    elif isinstance(node, exp.Func) and type(node).__name__ not in SAME:
        raise refused(node.sql_name().lower())
    elif isinstance(node, exp.Extract) and node.name.upper() not in _PARTS:
        raise refused(f"extract({node.name.lower()} …)")
    elif isinstance(node, exp.DateDiff) and node.text("unit").upper() not in _UNITS:
        raise refused(f"date_diff('{node.text('unit').lower()}', …)")
    elif isinstance(node, exp.TimeToStr | exp.StrToTime) and not _has_plain_codes(node.args["format"]):
        raise refused("this format of times")
    elif isinstance(node, exp.Substring | exp.Left | exp.Right):
        place = node.args.get("start") or node.expression
        if not (isinstance(place, exp.Literal) and place.is_int) or (
            isinstance(node, exp.Substring) and place.name == "0"
        ):
            raise refused("a part of a text that is not counted from its beginning")
    elif isinstance(node, exp.RegexpReplace):
        new, modifiers = node.args["replacement"], node.args.get("modifiers")
        if modifiers is None or modifiers.name != "g" or not new.is_string or {"\\", "$"} & set(new.name):
            raise refused("regexp_replace of the first match, or with parts of it")
    elif isinstance(node, exp.IntDiv) and (kinds.are_broken(node.this) or kinds.are_broken(node.expression)):
        raise refused("// of numbers that are not whole")
    elif isinstance(node, exp.JSONExtract) and not isinstance(_around(node), exp.JSONExtract | exp.JSONExtractScalar):
        raise refused("-> as a value", "use ->>, which gives text")


def _around(node: Expr) -> Expr | None:
    """The parent of a node, without brackets."""
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    return node.parent


def _has_plain_codes(form: Expr) -> bool:
    """Whether a format of times says nothing that Spark would read as letters of its own."""
    codes = form.name.split("%")
    letters = codes[0] + "".join(part[1:] for part in codes[1:])
    return form.is_string and _CODES.issuperset(part[:1] for part in codes[1:]) and not any(map(str.isalpha, letters))


def _rewritten(node: Expr, kinds: _Kinds) -> Expr:
    """The node, or its replacement on Spark."""
    if isinstance(node, exp.Anonymous) and node.name.lower() == "now":
        return exp.CurrentTimestamp()
    if isinstance(node, exp.Div | exp.Avg):  # of decimals, Spark gives six digits
        inner = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
        inner.replace(exp.cast(inner.copy(), "DOUBLE"))
    elif isinstance(node, exp.Cast):
        return _cast(node, kinds)
    elif isinstance(node, exp.JSONExtract | exp.JSONExtractScalar):
        _join_path(node)
    elif isinstance(node, exp.Bracket):  # with brackets, Spark fails where there is no such element
        place = node.expressions[0]
        if len(node.expressions) != 1 or isinstance(place, exp.Slice):
            raise refused("a part of a list or a text")
        if place.is_int:
            place = exp.Literal.number(int(place.to_py()) + 1 - (node.args.get("offset") or 0))
        return _call("try_element_at", node.this, place)
    elif isinstance(node, exp.ArrayContains):  # a null in the list would make it null
        return _call("array_contains", _call("array_compact", node.this), node.expression)
    elif isinstance(node, exp.ArgMax | exp.ArgMin):  # DuckDB passes over a null, Spark would give it
        is_null = exp.Is(this=node.this.copy(), expression=exp.Null())
        node.set("expression", exp.If(this=is_null, true=exp.Null(), false=node.expression.copy()))
    elif isinstance(node, exp.AtTimeZone):
        name = "from_utc_timestamp" if kinds.is_zoned(node.this) else "to_utc_timestamp"
        return _call(name, node.this, node.args["zone"])
    elif isinstance(node, exp.Dayname | exp.Monthname):
        return _call("date_format", node.this, exp.Literal.string("EEEE" if isinstance(node, exp.Dayname) else "MMMM"))
    elif isinstance(node, exp.DateDiff):  # DuckDB counts how often a new hour begins, Spark whole hours
        unit = exp.Literal.string(node.text("unit").lower())
        for side in ("this", "expression"):
            node.set(side, _call("date_trunc", unit, node.args[side]))
    elif isinstance(node, exp.RegexpLike) and (flag := node.args.get("flag")):
        if flag.name not in ("i", "c") or not node.expression.is_string:
            raise refused("an option of regexp_matches")
        pattern = exp.Literal.string(("(?i)" if flag.name == "i" else "") + node.expression.name)
        return exp.RegexpLike(this=node.this.copy(), expression=pattern)
    elif isinstance(node, exp.Like | exp.ILike) and not isinstance(node.parent, exp.Escape):
        return _without_escape(node)
    return node


def _cast(node: Expr, kinds: _Kinds) -> Expr:
    """A cast to a whole number rounds in DuckDB, numbers of base two to the even one, and cuts off in Spark."""
    is_floating = kinds.are_broken(node.this, _NUMBERS[:2])
    if node.args["to"].this.name in _WHOLE and kinds.are_broken(node.this):
        rounded = _call("rint", node.this) if is_floating else exp.Round(this=node.this.copy())
        node.set("this", rounded)
    elif isinstance(node, exp.TryCast) and node.args["to"].this.name in _WHOLE and kinds.may_be_text(node.this):
        number = node.copy()
        number.set("to", exp.DataType.build("DECIMAL(38, 18)"))
        node.set("this", exp.Round(this=number))  # of 12.7 and 1e3, Spark would give null
    elif is_floating and node.args["to"].is_type(*exp.DataType.TEXT_TYPES):
        raise refused("a number such as 1e+20 as text")
    return node


def _join_path(node: Expr) -> None:
    """Spell a path for Spark. Arrows that follow each other become one path: in two steps, Spark would also look into
    a text that happens to be JSON."""
    written = node.expression
    path = None
    if isinstance(written, exp.Literal):
        path = spark_path(written.name) if written.is_string else f"$[{written.name}]"
    if path is None:
        raise refused("this path of JSON", "write it as keys and numbers, such as '$.items[0].id'")
    inner = node.this.unnest()
    if isinstance(inner, exp.JSONExtract):
        path = f"{inner.expression.name}{path[1:]}"
        node.set("this", inner.this)
    node.set("expression", exp.Literal.string(path))


def spark_path(text: str) -> str | None:
    """A path of DuckDB for Spark; None for ends of lists, many values, and paths that begin with `/`."""
    if text in ("", "$"):
        return "$"
    if text.startswith("/"):
        return None
    steps = list(_steps(text)) if text.startswith("$") else [_key(text)]
    return None if None in steps else "".join(["$", *filter(None, steps)])


def _steps(text: str) -> Iterator[str | None]:
    place = 1
    while place < len(text):
        match = _STEP.match(text, place)
        if match is None:
            yield None
            return
        yield f"[{match['index']}]" if match["index"] else _key(match["quoted"] or match["plain"])
        place = match.end()


def _key(name: str) -> str | None:
    """A key as a step: Spark leaves out blanks before one, and a star means all of them."""
    if name[:1].isspace() or name == "*":
        return None
    if not {".", "["} & set(name):
        return f".{name}"
    return None if {"'", "?"} & set(name) else f"['{name}']"


def _without_escape(node: Expr) -> Expr:
    """For DuckDB a backslash in a pattern is a letter like others, so that Spark needs another letter for it."""
    pattern = node.args["expression"]
    if not pattern.is_string:
        raise refused("LIKE with a pattern that is not written out")
    if "\\" not in pattern.name:
        return node
    free = next(letter for letter in map(chr, range(0x21, 0x3000)) if letter not in f"{pattern.name}\\%_'")
    return exp.Escape(this=node.copy(), expression=exp.Literal.string(free))


def _call(name: str, *arguments: Expr) -> Expr:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


class _Kinds:
    """The kinds of values of expressions, as far as their text shows."""

    def __init__(self, types: Mapping[str, str], aliases: Mapping[str, list[Expr]]) -> None:
        self._types = types
        self._aliases = aliases
        self._open: set[str] = set()

    def are_broken(self, node: Expr, kinds: tuple[str, ...] = _NUMBERS) -> bool:
        """Whether the values may have something behind the point."""
        if isinstance(node, exp.Column):
            name = node.name.lower()
            return self._types.get(name, "").startswith(kinds) or self._of_alias(
                name, lambda x: self.are_broken(x, kinds)
            )
        if isinstance(node, exp.Literal):
            return not node.is_string and not node.is_int and "DECIMAL" in kinds
        if isinstance(node, exp.Cast):
            return str(node.args["to"].sql("duckdb")).startswith((*kinds, "REAL"))
        if isinstance(
            node, exp.Div | exp.Avg | exp.Stddev | exp.Variance | exp.Sqrt | exp.Ln | exp.Exp | exp.Pow | exp.Median
        ):
            return True
        if isinstance(node, exp.JSONExtractScalar | exp.Count | exp.Length | exp.Extract | exp.Predicate):
            return False
        return any(self.are_broken(child, kinds) for child in node.iter_expressions())

    def may_be_text(self, node: Expr) -> bool:
        """Whether the values are not known to be something else."""
        if isinstance(node, exp.Paren):
            return self.may_be_text(node.this)
        if isinstance(node, exp.Column) and node.name.lower() not in self._aliases:
            return self._types.get(node.name.lower(), "VARCHAR").startswith("VARCHAR")
        return not isinstance(node, exp.Literal) or node.is_string

    def is_zoned(self, node: Expr) -> bool:
        """Whether a time has a zone."""
        if isinstance(node, exp.Paren):
            return self.is_zoned(node.this)
        if isinstance(node, exp.AtTimeZone):
            return not self.is_zoned(node.this)
        if isinstance(node, exp.Anonymous):
            return node.name == "to_utc_timestamp"
        if isinstance(node, exp.Column):
            name = node.name.lower()
            if len(self._aliases.get(name, ())) + (name in self._types) > 1:
                raise refused(f'AT TIME ZONE of "{node.name}", which has two meanings,', "give it another name")
            return self._of_alias(name, self.is_zoned)
        is_cast = isinstance(node, exp.Cast) and "TZ" in node.args["to"].this.name
        return is_cast or isinstance(node, exp.CurrentTimestamp)

    def _of_alias(self, name: str, test: Callable[[Expr], bool]) -> bool:
        if name not in self._aliases or name in self._open:
            return False
        self._open.add(name)
        try:
            return any(test(meant) for meant in self._aliases[name])
        finally:
            self._open.discard(name)
