"""Allowed: what a statement for Spark may be made of. Everything else is refused before Spark sees it.

The words are the names of the translator's classes. A list of what is allowed stays true when Spark, or the
translator, learns something new.
"""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.expressions import Expr

from tailpipe.errors import UsageError

SAME = frozenset(
    """
    Alias And Or Not Case If Cast TryCast Array Struct Interval Exists Columns
    Count CountIf Sum Min Max Avg Stddev StddevSamp StddevPop Variance VariancePop ArgMax ArgMin AnyValue
    LogicalAnd LogicalOr ApproxDistinct Median GroupConcat Grouping
    RowNumber Rank DenseRank PercentRank CumeDist Ntile Lag Lead FirstValue LastValue NthValue
    Coalesce Nullif Greatest Least Abs Ceil Floor Round Sign Sqrt Exp Ln Pow
    Upper Lower Length Trim Left Right Substring Replace Reverse Concat ConcatWs SplitPart Split StrPosition Contains
    StartsWith EndsWith Pad Repeat MD5 SHA2 RegexpLike RegexpReplace RegexpExtract
    CurrentTimestamp CurrentDate TimestampTrunc DateTrunc Extract Year Month Day DayOfMonth DayOfYear Quarter Hour
    Minute Second DateDiff TimeToStr StrToTime Dayname Monthname LastDay DateFromParts
    JSONExtract JSONExtractScalar ArrayContains ArraySize Transform ArrayFilter Explode Unnest GenerateSeries
    StructExtract
    """.split()  # noqa: SIM905 - a list would be a hundred lines
)
"""Functions that are known to give the same answer on both engines."""
_SHAPES = frozenset(
    """
    Select Subquery Union Intersect Except With CTE Table TableAlias From Join Values Tuple Where Group Having Qualify
    Order Ordered Limit Offset Distinct Window WindowSpec Filter IgnoreNulls RespectNulls WithinGroup
    Cube Rollup GroupingSets Pivot Any All
    Star Column Identifier Literal RawString Null Boolean Var DataType DataTypeParam ColumnDef IntervalSpan
    Paren Neg Add Sub Mul Div IntDiv Mod DPipe BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitwiseLeftShift
    BitwiseRightShift EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Is In Between Like ILike Escape
    Bracket Dot Lambda PropertyEQ
    """.split()  # noqa: SIM905
)
"""The other parts of a statement."""
_WRITTEN = frozenset(
    """
    array_compact array_contains date_format date_trunc from_utc_timestamp rint to_utc_timestamp try_element_at
    """.split()  # noqa: SIM905
)
"""Functions of Spark that the translation itself puts in."""
_WORD = re.compile(r"\w+")
_PLAIN = re.compile(r"[\w ]+")
_NUMBER = re.compile(r"[0-9.]+(?:[eE][+-]?[0-9]+)?")


def refuse_unknown(statement: Expr) -> None:
    """Raise if a translated statement has a part that is not on the lists, or one that could be more than it seems."""
    for node in statement.walk():
        kind = type(node).__name__
        if isinstance(node, exp.Anonymous):
            if node.this not in _WRITTEN:
                raise refused(str(node.this).lower())
        elif kind not in SAME and kind not in _SHAPES:
            raise refused(node.sql_name().lower() if isinstance(node, exp.Func) else node.key.replace("_", " "))
        elif isinstance(node, exp.Identifier) and "${" in node.this:
            raise UsageError("a name with ${ in it cannot be used on Spark", hint="remove --engine spark")
        elif isinstance(node, exp.Unnest) and not _WORD.fullmatch(node.alias or "unnest"):
            raise UsageError(f'the alias "{node.alias}" cannot be used on Spark', hint="write letters and digits")
        elif not _is_plain(node):
            raise refused(str(node))


def _is_plain(node: Expr) -> bool:
    """Whether what is written without quotes is only words, a number, or the name of a type that all have."""
    if isinstance(node, exp.Identifier | exp.RawString) or node.is_string:
        return True
    if isinstance(node, exp.Literal):
        return _NUMBER.fullmatch(node.name) is not None
    if isinstance(node, exp.DataType):
        is_known = isinstance(node.this, exp.DataType.Type) and not node.is_type("userdefined")
        return is_known and not node.args.get("kind")
    return all(_PLAIN.fullmatch(value) for value in node.args.values() if isinstance(value, str) and value)


def refused(what: str, hint: str = "remove --engine spark, or simplify it") -> UsageError:
    """The error for what Spark would answer in another way."""
    return UsageError(f"{what} may return another result on Spark", hint=hint)
