"""The jail: a session in which a statement can read its own relations and nothing else of this machine."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from tailpipe.errors import SparkError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TEXT = {
    "spark.sql.variable.substitute": "false",  # else ${env:…} and ${system:…} are replaced in the text
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timeType.enabled": "true",
}
"""How our texts are meant; a Spark that another program has started may have other settings."""
_CLOSED = {
    "spark.sql.runSQLOnFiles": "false",  # else csv.`/any/file` is a relation
    "spark.sql.scripting.enabled": "false",
}
_PACKAGES = frozenset(f"org.apache.spark.sql.catalyst.{name}" for name in ("analysis", "expressions", "plans.logical"))
_NODES = frozenset(
    """
    Aggregate Distinct Except Filter Generate GlobalLimit Intersect Join LocalLimit LocalRelation Offset OneRowRelation
    Pivot Project Sort SubqueryAlias Union UnresolvedHaving UnresolvedInlineTable UnresolvedRelation
    UnresolvedSubqueryColumnAliases UnresolvedTVFAliases UnresolvedTableValuedFunction UnresolvedWith
    UnresolvedAlias UnresolvedAttribute UnresolvedExtractValue UnresolvedFunction UnresolvedGenerator UnresolvedOrdinal
    UnresolvedStar UnresolvedStarExceptOrReplace UnresolvedNamedLambdaVariable
    Add Alias And AttributeReference Between BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CaseWhen Cast Concat
    CreateNamedStruct CreateStruct Cube CurrentRow Divide EqualNullSafe EqualTo Exists GreaterThan GreaterThanOrEqual
    GroupingSets ILike If In InSubquery IntegralDivide IsNotNull IsNull LambdaFunction LessThan LessThanOrEqual Like
    ListQuery Literal Multiply Not Or RLike Remainder Rollup ScalarSubquery ShiftLeft ShiftRight SortOrder
    SpecifiedWindowFrame StringTrim StringTrimBoth StringTrimLeft StringTrimRight Subtract TimestampAdd TimestampDiff
    UnaryMinus UnboundedFollowing UnboundedPreceding UnspecifiedFrame WindowExpression WindowSpecDefinition
    """.split()  # noqa: SIM905 - a list would be a hundred lines
)
"""What the plan of a query may be made of."""
_FUNCTIONS = frozenset(
    """
    abs any_value approx_count_distinct array array_compact array_contains array_size avg between bool_and bool_or
    ceil ceiling char_length coalesce concat concat_ws contains count count_if cume_dist current_date
    current_timestamp date_format date_trunc day dayofmonth dayofyear dense_rank endswith every exists exp explode
    extract filter first first_value floor from_utc_timestamp get_json_object greatest grouping hour if instr lag last
    last_day last_value lead least left length listagg ln locate lower lpad ltrim make_date max max_by md5 median min
    min_by minute month nth_value ntile nullif percent_rank percentile pow power quarter rank regexp_extract
    regexp_like regexp_replace repeat replace reverse right rint round row_number rpad rtrim second sequence sha2
    shiftleft shiftright sign signum size some split split_part sqrt startswith stddev stddev_pop stddev_samp
    string_agg struct substr substring sum to_date to_timestamp to_utc_timestamp transform trim trunc try_element_at
    try_to_timestamp upper var_pop var_samp variance year
    """.split()  # noqa: SIM905
)
"""Functions of Spark that compute something from their arguments alone, or tell the time."""
_CALLS = {
    "UnresolvedFunction": _FUNCTIONS,
    "UnresolvedGenerator": frozenset({"explode"}),
    "UnresolvedTableValuedFunction": frozenset({"explode"}),
}
_EMPTY = frozenset({"data", "escapeChar", "evalContext", "evalMode", "groupingSetIndexes", "hint", "options", "value"})
"""What Spark leaves out of the JSON of a node though it may be there. None of it is a part of a query."""
_LEAVES = frozenset({"CTERelationRef", "LocalRelation", "OneRowRelation", "UnionLoopRef"})
_REVEALING = frozenset({"CurrentCatalog", "CurrentDatabase", "CurrentTimeZone", "CurrentUser"})
"""What Spark takes an unknown column for if it has such a name."""


def text_session(spark: SparkSession) -> SparkSession:
    """A session of its own, which takes our texts as they are written; that of others stays as it is."""
    return _session(spark, _TEXT)


def jailed_session(spark: SparkSession) -> SparkSession:
    """A session for statements that others wrote: none reads a file by its name."""
    return _session(spark, {**_TEXT, **_CLOSED})


def _session(spark: SparkSession, settings: dict[str, str]) -> SparkSession:
    session = spark.newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    return session


def checked_frame(spark: SparkSession, sql: str, views: Collection[str]) -> DataFrame:
    """The rows of a query over these temporary views, in a session of `jailed_session`; they are not computed yet.

    Spark itself says what the text means: first its parser, before any name is looked up, then its analyzer. What is
    checked is what is run. A command would be run by `spark.sql` before it could be checked.
    """
    from pyspark.sql.classic.dataframe import DataFrame

    jvm, session = spark._jvm, spark._jsparkSession
    if jvm is None:
        raise SparkError("Spark is not running", hint="run the query again")
    classic = jvm.org.apache.spark.sql.classic
    classic.SparkSession.setActiveSession(session)  # for this thread: the parser reads its settings
    state = session.sessionState()
    parsed = state.sqlParser().parsePlan(sql)
    refuse_parsed(json.loads(parsed.toJSON()), views)
    execution = state.executePlan(parsed, jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP())
    analyzed = execution.analyzed()
    _refuse_analyzed(analyzed, {name.lower() for name in views})
    return DataFrame(classic.Dataset.ofRows(session, analyzed), spark)


def refuse_parsed(plan: Any, views: Collection[str]) -> None:
    """Raise if a plan of Spark's parser, given as JSON, has a node, a function or a relation that is not allowed."""
    nodes = list(_nodes(plan))
    withs = [node for node in nodes if _kind(node) == "UnresolvedWith"]
    ctes = {str(relation["_1"]) for node in withs for relation in node["cteRelations"]}
    relations = {f"[{name}]" for name in (*views, *ctes)}
    for node in nodes:
        kind = _kind(node)
        if kind not in _NODES:
            raise _not_allowed(kind)
        if hidden := [key for key, value in node.items() if value is None and key not in _EMPTY]:
            raise _not_allowed(f"{kind} with {hidden[0]}")
        if kind == "UnresolvedRelation" and node["multipartIdentifier"] not in relations:
            raise _not_allowed(f"the relation {node['multipartIdentifier']}")
        if kind in _CALLS:
            name = node["nameParts"] if "nameParts" in node else node["name"]
            text = name["funcName"] if isinstance(name, dict) else str(name).removeprefix("[").removesuffix("]")
            if (function := str(text).lower()) not in _CALLS[kind]:
                raise _not_allowed(f"the function {function}")


def _nodes(part: Any) -> Iterator[dict[str, Any]]:
    """All nodes of a plan, also those of its expressions, subqueries and CTEs."""
    if isinstance(part, dict):
        if "class" in part:
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from _nodes(one)


def _kind(node: dict[str, Any]) -> str:
    """The class of a node of Spark's SQL; of other packages with their names."""
    package, _, name = str(node["class"]).rstrip("$").rpartition(".")
    return name if package in _PACKAGES else str(node["class"])


def _refuse_analyzed(plan: Any, views: Collection[str]) -> None:
    """Raise if an analyzed plan reads anything but these views, whose inside is ours, or reveals the environment."""
    kind = plan.nodeName()
    if kind == "View":
        if not plan.isTempView() or plan.desc().identifier().table().lower() not in views:
            raise _not_allowed(f"the view {plan.desc().identifier().table()}")
        return
    children = _each(plan.children())
    if not children and kind not in _LEAVES:
        raise _not_allowed(kind)
    for expression in _each(plan.expressions()):
        for node in _nodes(json.loads(expression.toJSON())):
            if _kind(node) in _REVEALING:
                raise _not_allowed(_kind(node))
    for child in (*children, *_each(plan.subqueries())):
        _refuse_analyzed(child, views)


def _each(sequence: Any) -> list[Any]:
    return [sequence.apply(place) for place in range(sequence.size())]


def _not_allowed(what: str) -> UsageError:
    return UsageError(f"a query on Spark cannot use {what}", hint="remove --engine spark")
