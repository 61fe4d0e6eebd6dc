"""Whatever nouns a config is made of, shown as text it builds to the same config."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailpipe.config.config import Config
from tailpipe.config.dataset import Dataset
from tailpipe.config.encoder import config_data, config_text
from tailpipe.config.settings import LOG_LEVELS, SparkSettings, WorkspaceSettings
from tailpipe.formats import Jsonl
from tailpipe.model.connection import Connection
from tailpipe.model.format import Format
from tailpipe.model.partition import Partition, Schema
from tailpipe.model.source import Source
from tailpipe.model.store import PARTITION_BY, Here, Store
from tailpipe.model.table import Column, Table
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.core.sources import File
from tests.examples import examples
from tests.unit.config.world import REGISTRY, Acme, AcmeApi, AcmeLines, Joined, build

texts = st.text(max_size=20)
maybe_texts = st.none() | texts
maps = st.dictionaries(texts, texts, max_size=3)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
references = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True)
partition_names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,8}", fullmatch=True)


def tuples(items: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, min_size=least, max_size=3).map(tuple)


# The nouns; secrets are left out, as they do not come back

sparks = st.builds(SparkSettings, master=texts, driver_memory=maybe_texts, conf=maps)
workspaces = st.builds(
    WorkspaceSettings,
    name=partition_names,
    location=maybe_texts,
    data_dir=maybe_texts,
    log_level=st.none() | st.sampled_from(LOG_LEVELS),
    spark=sparks,
)
aws = st.builds(
    Aws,
    name=references,
    profile=maybe_texts,
    region=maybe_texts,
    s3_force_path_style=st.booleans(),
    max_retries=st.integers(0, 100),
)
joined = st.builds(Joined, start=texts, at_most=st.integers())
formats: st.SearchStrategy[Format] = st.one_of(
    st.builds(
        AcmeLines,
        name=references,
        description=maybe_texts,
        separator=texts,
        header=st.none() | st.booleans(),
        nulls=tuples(texts),
        renamed=maps,
        joined=st.none() | joined,
    ),
    st.builds(Jsonl, name=references, description=maybe_texts, timezone=st.sampled_from([None, "UTC"])),
).filter(lambda made: made.address not in {preset.address for preset in REGISTRY.presets.values()})
columns = st.builds(
    Column,
    name=names.filter(lambda name: not name.lower().startswith("tp_")),
    type=st.sampled_from([None, "int", "decimal(10,2)", 'struct("a b" varchar, c json[])[]']),
    description=maybe_texts,
    source=st.none() | names,
    null_if=maybe_texts,
    required=st.booleans(),
)
TIME = Column("tp_timestamp", None, None, "time")


def tables(known: st.SearchStrategy[Format]) -> st.SearchStrategy[Table]:
    return st.builds(
        Table,
        name=names,
        description=texts,
        format=known,
        columns=st.lists(columns, max_size=3, unique_by=lambda column: column.name.lower()).map(
            lambda own: (TIME, *own)
        ),
        map_fields=tuples(texts),
        null_if=maybe_texts,
    )


def sources(known: st.SearchStrategy[Format], accounts: list[Connection]) -> st.SearchStrategy[Source]:
    own = [account for account in accounts if isinstance(account, Acme)] or [Acme()]
    return st.one_of(
        st.builds(
            File,
            name=partition_names,
            format=st.none() | known,
            paths=tuples(st.sampled_from(["/var/log", "~/a b/*.log", '\\"日本`']), 1),
            file_layout=st.sampled_from([None, "%{YEAR:year}/%{DATA}", "%{YEAR:year}\\.${x}"]),
            recursive=st.booleans(),
        ),
        st.builds(
            AcmeApi,
            name=partition_names,
            format=st.none() | known,
            connection=st.sampled_from(own),
            streams=tuples(texts),
            page_size=st.integers(-1000, 1000),
            ratio=st.floats(-1e300, 1e300),
            level=st.sampled_from(["low", "high"]),
            labels=maps,
            limits=st.dictionaries(texts, st.integers(), max_size=3),
            either=st.none() | st.integers() | tuples(texts),
            backups=tuples(st.sampled_from(accounts)) if accounts else st.just(()),
        ),
    )


spans = st.sampled_from(["1d", "12W", "6m", "2Y"])
heres = st.builds(Here, newer_than=st.none() | spans, where=maybe_texts)


def stores(parents: list[Connection]) -> st.SearchStrategy[list[Store]]:
    """Stores with locations apart from each other."""
    common = {
        "partition_by": st.sampled_from([PARTITION_BY, (*PARTITION_BY[:3], "tp_year", "tp_month", "tp_day")]),
        "history": spans,
        "publish": st.sampled_from(["none", "delta"]),
        "here": st.none() | heres,
    }
    local = st.builds(Store, name=references, location=references.map(lambda name: f"/srv/{name}"), **common)
    bucket = st.builds(
        Store,
        name=references,
        location=references.map(lambda name: f"s3://logs/{name}"),
        connection=st.sampled_from(parents or [Aws()]),
        **common,
    )
    return st.lists(local | bucket, max_size=2, unique_by=(lambda one: one.name, lambda one: one.location))


def partitions(
    table_names: list[str], each: st.SearchStrategy[Source], stores: list[Store]
) -> st.SearchStrategy[Partition]:
    return st.builds(
        Partition,
        table=st.sampled_from(table_names),
        name=partition_names,
        description=maybe_texts,
        filter=maybe_texts,
        tp_index=maybe_texts,
        store=st.sampled_from([None, *stores]),
        sources=st.lists(each, min_size=1, max_size=3, unique_by=lambda source: source.name).map(tuple),
    )


wildcards = tuples(st.sampled_from(["*", "aws_*", "*.prod", "web-1"]))
times = st.sampled_from([None, "2024-01-31", "T-7d", "1/31/2024"])
schemas = st.builds(
    Schema,
    name=names.map(lambda name: f"s_{name}"),
    description=maybe_texts,
    tables=wildcards,
    partitions=wildcards,
    indexes=tuples(texts),
    from_=times,
    to=times,
    where=maybe_texts,
)
datasets = st.builds(
    Dataset,
    name=references,
    description=maybe_texts,
    tables=wildcards,
    partitions=wildcards,
    from_=times,
    to=times,
    indexes=tuples(texts),
)


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """A config of nouns that refer to each other, as the decoder would make it."""
    parents: list[Connection] = draw(st.lists(aws, max_size=2, unique_by=lambda made: made.name))
    has_own_default = any(made.name == "default" for made in parents)
    parent = st.sampled_from([None, *parents] if has_own_default else [None, Aws(), *parents])
    acmes = st.builds(Acme, name=references, url=texts, parent=parent)
    connections = [*parents, *draw(st.lists(acmes, max_size=2, unique_by=lambda made: made.name))]
    own_stores = draw(stores([one for one in connections if isinstance(one, Aws)]))
    own_formats = draw(st.lists(formats, max_size=2, unique_by=lambda made: made.address))
    known = st.sampled_from([*own_formats, *REGISTRY.presets.values()])
    own_tables = draw(st.lists(tables(known), max_size=2, unique_by=lambda table: table.name))
    table_names = ["acme_event_log", *(table.name for table in own_tables)]
    each = sources(known, connections)
    own_partitions = draw(
        st.lists(partitions(table_names, each, own_stores), max_size=2, unique_by=lambda made: made.address)
    )
    own_workspaces = draw(st.lists(workspaces, max_size=2, unique_by=lambda made: made.name))
    own_datasets = draw(st.lists(datasets, max_size=2, unique_by=lambda made: made.name))
    own_schemas = draw(st.lists(schemas, max_size=2, unique_by=lambda made: made.name))
    return Config(
        workspaces={made.name: made for made in own_workspaces},
        connections={f"{made.type}.{made.name}": made for made in connections},
        stores={made.name: made for made in own_stores},
        formats={f"{made.type}.{made.name}": made for made in own_formats},
        tables={made.name: made for made in own_tables},
        partitions={made.address: made for made in own_partitions},
        schemas={made.name: made for made in own_schemas},
        datasets={made.name: made for made in own_datasets},
    )


@settings(max_examples=examples(150), deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(configs())
def test_a_config_shown_as_text_builds_to_the_same_config(config: Config) -> None:
    text = config_text(config)
    again = build(text)
    for kind in ("workspaces", "connections", "stores", "formats", "tables", "partitions", "schemas", "datasets"):
        assert getattr(again, kind) == getattr(config, kind)
        assert list(getattr(again, kind)) == list(getattr(config, kind))
    assert config_text(again) == text
    assert config_data(again) == config_data(config)
