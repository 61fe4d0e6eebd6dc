"""Connections: how to reach and log in to a service."""

from __future__ import annotations

from typing import Any, ClassVar

from tailpipe.errors import UsageError
from tailpipe.model.names import check_reference_name
from tailpipe.model.option import Declared, label, secrets_in


class Connection(Declared):
    """Credentials and options of a service; a subclass is a type of connection.

    All options of a subclass need defaults, because `connection.<type>.default` exists without config.
    """

    type: ClassVar[str] = ""
    object_schemes: ClassVar[tuple[str, ...]] = ()
    """The schemes of the locations that `object_store` opens, such as `s3`."""
    name: str = label("Name of the connection.", default="default", check=check_reference_name)

    @property
    def holds_secrets(self) -> bool:
        """Whether one of its options is a secret that was given: then it may only travel over private channels."""
        return bool(secrets_in(self))

    @property
    def address(self) -> str:
        """How config names it: `connection.aws.prod`."""
        return f"connection.{self.type}.{self.name}"

    def object_store(self, location: str) -> Any:
        """The bucket or container of a location such as `s3://bucket/prefix`, as a store of obstore.

        A type of connection that can open one overrides this, and names the schemes in `object_schemes`. The
        caller sets the prefix, time limits and retries.
        """
        hint = f'a connection of type "{self.type}" opens no buckets: name one that fits the location'
        raise UsageError(f'{self.address} cannot open "{location}"', hint=hint)
