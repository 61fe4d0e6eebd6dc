"""Words that users of earlier versions and of similar tools know, and what they are called here."""

from __future__ import annotations

from collections.abc import Collection, Container

from tailpipe.config.syntax import Attribute, Block, Name
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.option import options_of
from tailpipe.model.partition import Partition

_BLOCKS = {
    "collection": 'write partition "TABLE" "NAME" { … }',
    "source": 'a source stands inside a partition: partition "TABLE" "NAME" { source "TYPE" { … } }',
    "plugin": "remove it: plugins need no block",
    "variable": 'take values from the environment, env("NAME"), or from another block, such as store.NAME.location',
    "locals": "take values from another block, such as store.NAME.location",
    "credential": 'write connection "TYPE" "NAME" { … }',
    "control": 'write detection "NAME" { … }',
}
_INNER_BLOCKS = {("store", "partition"): "here", ("store", "local"): "here", ("store", "cache"): "here"}
_ARGUMENTS = {
    "source_format": "format",
    "null_column_char": "null_if",
    "null_str": "null_if",
    "types": "tables",
    "collections": "partitions",
    "connections": "indexes",
    "start_date": "from",
    "end_date": "to",
    "separator": "delimiter",
    "columns": "fields",
    "pattern": "layout",
    "expression": "transform",
    "field": "source",
    "statement": "sql",
    "query": "sql",
    "log_line_prefix": "layout",
    "url": "location",
    "path": "location",
    "max_error_retry_attempts": "max_retries",
}
_HINTS = {
    ("workspace", "update_check"): "remove it: tailpipe does not look for updates",
    ("workspace", "memory_max_mb"): 'for the memory of Spark, write spark { driver_memory = "2g" }',
    ("workspace", "plugin_memory_max_mb"): "remove it: plugins run inside of tailpipe",
    ("workspace", "temp_dir_max_mb"): "remove it: there is no such limit",
    ("connection", "min_error_retry_delay"): "remove it: delays grow by themselves; max_retries limits their number",
    ("connection", "subscription_id"): 'the source takes subscriptions: source "azure_activity_log_api" { … }',
    ("connection", "project"): "remove it: sources name the bucket, or the project in resource_names",
    ("store", "bucket"): 'write location = "s3://BUCKET/PREFIX"',
    ("store", "type"): 'remove it: location names the type, such as "s3://BUCKET/PREFIX"',
    **{
        (kind, "store"): "write it into the partition, or into the workspace" for kind in ("table", "schema", "dataset")
    },
}
"""What to do about an argument of a block that has no other name here."""
_STORE = ("store", "NAME")
"""The parts of a reference to a store; one to a partition has more."""
_TYPES = {
    "gcp_audit_log_api": "gcp_logging_api",
    "s3": "aws_s3_bucket",
    "cloudwatch": "aws_cloudwatch_log_group",
    "gcs": "gcp_storage_bucket",
    "azure_blob": "azure_blob_storage",
}


def former_block(name: str) -> str:
    """The hint for a block that has another name or place now; empty if there was none of that name."""
    return _BLOCKS.get(name, "")


def former_inner_block(kind: str, name: str, known: Container[str]) -> str | None:
    """What a block inside a block of this kind is called, if it takes that."""
    present = _INNER_BLOCKS.get((kind, name))
    return present if present in known else None


def former_argument(name: str, known: Container[str]) -> str | None:
    """What an argument is called now, if the block takes it."""
    present = _ARGUMENTS.get(name, name)
    return present if present != name and present in known else None


def former_label(block: Block) -> str:
    """The hint for a partition with one label that has what a store has; empty for any other block."""
    body = block.body
    is_store = block.type == "partition" and len(block.labels) == 1 and all(one.type != "source" for one in body.blocks)
    if is_store and "location" in (*(one.name for one in body.attributes), *(one.type for one in body.blocks)):
        return f'a place for files is a store: store "{block.labels[0].text}" {{ location = … }}'
    return ""


def meant_type(word: str, known: Collection[str]) -> str | None:
    """The type that a word means: itself, its name here, or the nearest."""
    word = _TYPES.get(word, word)
    if word in known:
        return word
    return did_you_mean(word, known).removeprefix('did you mean "').removesuffix('"?') or None


def other_place(block: Block, attribute: Attribute, known: Container[str], inner: Container[str]) -> str:
    """The hint for an argument that belongs elsewhere; `inner` are those of the sources in the block."""
    name, value = attribute.name, attribute.value
    if name in ("partition", "partitions") and block.type == "store" and block.labels:
        return f"write store = store.{block.labels[0].text} into each partition, or into the workspace"
    if name == "partition" and isinstance(value, Name) and len(value.parts) == len(_STORE):
        where = "" if "store" in known else " into the partition, or into the workspace"
        return f"files are kept in a store: write store = store.{value.parts[1]}{where}"
    if block.type == "partition" and (name in inner or former_argument(name, inner)):
        return f'write {former_argument(name, inner) or name} = … into the block "source"'
    if block.type == "source" and name in (one for one, what in options_of(Partition).items() if what.kind == "option"):
        return "write it into the partition, outside of the source"
    return _HINTS.get((block.type, name), "")
