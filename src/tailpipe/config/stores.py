"""Checks across the options of a store: whether its connection opens its location, and whether locations overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from tailpipe.config.settings import WorkspaceSettings
from tailpipe.errors import ObjectStoreError, UsageError
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.option import unresolved_in
from tailpipe.model.partition import Partition
from tailpipe.model.store import FILE_COLUMNS, Store, index_names
from tailpipe.storage.locations import Location, parse_location


@frozen
class StoreProblem:
    """What is wrong, at the address of an argument; `first` is the address of what it collides with."""

    address: str
    message: str
    hint: str = ""
    first: str = ""


def store_problems(
    stores: Sequence[Store], workspaces: Sequence[WorkspaceSettings], partitions: Sequence[Partition]
) -> Iterator[StoreProblem]:
    """Every problem of the stores, and of what workspaces and partitions say about them."""
    places: dict[str, Location] = {}
    for store in stores:
        yield from _location_problems(store, places)
    for store in stores:
        yield from _path_problems(store, places)
        users = [one for one in partitions if _uses(one, store, workspaces)]
        yield from _index_problems(f"{store.address}.partition_by", store.partition_by, users)
    for workspace in workspaces:
        yield from _index_problems(f"workspace.{workspace.name}.partition_by", workspace.partition_by, partitions)


def _uses(partition: Partition, store: Store, workspaces: Iterable[WorkspaceSettings]) -> bool:
    if partition.store is not None:
        return partition.store.name == store.name
    return any(one.store is not None and one.store.name == store.name for one in workspaces)


def _location_problems(store: Store, places: dict[str, Location]) -> Iterator[StoreProblem]:
    address = f"{store.address}.location"
    if unresolved_in(store.location):
        return  # of an unset variable nothing can be said
    try:
        place = parse_location(store.location)
    except (UsageError, ObjectStoreError) as error:
        hint = 'write pathexpand("~/…")' if store.location.startswith("~") else error.hint
        yield StoreProblem(address, error.message, hint)
        return
    yield from _connection_problems(store, place)
    for name, other in places.items():
        if place.holds(other) or other.holds(place):
            is_same = place.holds(other) and other.holds(place)
            what = "the same location as" if is_same else "a location inside that of"
            one, two = (store.name, name) if other.holds(place) else (name, store.name)
            message = f'store "{one}" has {what} store "{two}"'
            yield StoreProblem(address, message, "give each store its own prefix", f"store.{name}.location")
            break
    places[store.name] = place


def _path_problems(store: Store, places: Mapping[str, Location]) -> Iterator[StoreProblem]:
    """What is wrong with the path of the local files: it must be a directory of its own."""
    path, address = store.here.path if store.here else None, f"{store.address}.here.path"
    if path is None or unresolved_in(path):
        return
    if not PurePath(path).is_absolute():
        hint = 'write pathexpand("~/…")' if path.startswith("~") else "write the whole path"
        yield StoreProblem(address, f'"{path}" is not an absolute path', hint)
        return
    own = parse_location(path)
    for name, other in places.items():
        if own.holds(other) or other.holds(own):
            message = f'"{path}" overlaps with the location of store "{name}"'
            yield StoreProblem(address, message, "name another directory", f"store.{name}.location")
            return


def _connection_problems(store: Store, place: Location) -> Iterator[StoreProblem]:
    connection = store.connection
    if connection is None:
        if place.scheme == "s3":
            hint = "add to the store: connection = connection.aws.default"
            yield StoreProblem(f"{store.address}.location", f'"{place.plain}" needs a connection', hint)
    elif place.scheme not in connection.object_schemes:
        hint = "a directory needs no connection" if place.is_directory else "leave it out, or name one that fits"
        if place.scheme == "s3":
            hint = "name a connection that fits: connection.aws.default"
        yield StoreProblem(f"{store.address}.connection", f'{connection.address} cannot open "{place.plain}"', hint)


def _index_problems(
    address: str, partition_by: Sequence[str], partitions: Sequence[Partition]
) -> Iterator[StoreProblem]:
    indexes: Mapping[str, str] = {one.tp_index.lower(): one.tp_index for one in partitions if one.tp_index}
    for name in index_names(partition_by):
        if name.lower() not in indexes:
            otherwise = 'write "tp_index" for the index of any partition'
            message = f'no partition of this {address.partition(".")[0]} has tp_index = "{name}"'
            yield StoreProblem(address, message, did_you_mean(name, [*indexes.values(), *FILE_COLUMNS], otherwise))
