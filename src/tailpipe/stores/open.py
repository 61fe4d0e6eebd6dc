"""Open the objects of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailpipe.errors import ConfigError, UsageError
from tailpipe.model.option import unresolved_in
from tailpipe.model.store import Store

if TYPE_CHECKING:
    from tailpipe.storage.objects import Objects


def open_store(store: Store) -> Objects:
    """The objects of a store; whether it answers is seen with the first request.

    What the config lacks on this machine, such as a variable, is a `ConfigError` that shows where it stands.
    """
    if missing := unresolved_in(store):
        raise ConfigError(missing)
    from tailpipe.storage.object_stores import open_objects  # late, because a store is opened by few commands

    try:
        return open_objects(store.location, store.connection)
    except UsageError as error:
        raise UsageError(f'store "{store.name}": {error.message}', hint=error.hint) from error
