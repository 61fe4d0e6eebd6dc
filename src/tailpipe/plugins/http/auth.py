"""How to log in to a service: the variants of the block `auth`."""

from __future__ import annotations

import base64
import hashlib
import hmac
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit

from tailpipe.plugin import Connection, Secret, TailpipeError, UsageError, Variant, hide_secrets, option
from tailpipe.plugins.http.messages import Request
from tailpipe.plugins.http.signing import host_of, signed_by_aws, sorted_query
from tailpipe.plugins.http.template import fill

if TYPE_CHECKING:
    from tailpipe.plugins.http.client import Client

_BAD_HEADER = "holds a line break, or a character that a header cannot have"


def with_header(request: Request, name: str, value: str) -> Request:
    """The request with one more header. What is wrong with the value is said without the value."""
    value = value.strip()
    hide_secrets(value)
    if not value.isprintable() or not all(ord(character) < 256 for character in value):
        raise UsageError(f'the value of the header "{name}" {_BAD_HEADER}')
    return request._replace(headers={**request.headers, name: value})


class Auth(Variant):
    """One way to log in."""

    @abstractmethod
    def signed(self, request: Request, client: Client) -> Request:
        """The request with what logs in."""

    @property
    def scope_shown(self) -> str:
        """What it may read, as far as it says so."""
        return ""


class Header(Auth):
    """Sends a header with a fixed value."""

    type = "header"
    name: str = option("Name of the header.", default="Authorization")
    value: Secret = option("Value of the header, such as `SSWS …`.")

    def signed(self, request: Request, client: Client) -> Request:  # noqa: ARG002
        """With the header."""
        return with_header(request, self.name, self.value.reveal())


class Bearer(Auth):
    """Sends a token as `Authorization: Bearer …`."""

    type = "bearer"
    token: Secret = option("The token.")

    def signed(self, request: Request, client: Client) -> Request:  # noqa: ARG002
        """With the token."""
        return with_header(request, "Authorization", f"Bearer {self.token.reveal().strip()}")


class Basic(Auth):
    """Sends a name and a password as `Authorization: Basic …`."""

    type = "basic"
    username: str = option("Name of the user.")
    password: Secret = option("Password of the user.", default=Secret(""))

    def signed(self, request: Request, client: Client) -> Request:  # noqa: ARG002
        """With both, as base64."""
        return _basic(request, "Authorization", self.username, self.password.reveal().strip())


class ApiKey(Auth):
    """Sends a key in a header or as a parameter."""

    type = "api_key"
    name: str = option("Name of the header or parameter.", default="X-API-Key")
    value: Secret = option("The key.")
    in_: Literal["header", "query"] = option("Where the key is sent.", default="header")

    def signed(self, request: Request, client: Client) -> Request:  # noqa: ARG002
        """With the key; one that the service has put into the address of the next page is replaced."""
        value = self.value.reveal().strip()
        if self.in_ == "header":
            return with_header(request, self.name, value)
        hide_secrets(value)
        parts, name = urlsplit(request.url), quote(self.name, safe="")
        kept = [pair for pair in parts.query.split("&") if pair and pair.partition("=")[0] != name]
        query = "&".join([*kept, f"{name}={quote(value, safe='')}"])
        return request._replace(url=parts._replace(query=query).geturl())


class TokenAuth(Auth):
    """A way to log in whose token may expire, so that a refusal is worth a second attempt."""

    def signed(self, request: Request, client: Client) -> Request:
        """With a token that has not expired."""
        return with_header(request, "Authorization", f"Bearer {client.token()}")


class OAuth2(TokenAuth):
    """Requests a token with the credentials of a client, and again when it expires."""

    type = "oauth2"
    token_url: str = option("Address of the token endpoint.")
    client_id: str = option("Id of the client.")
    client_secret: Secret | None = option("Secret of the client.", default=None)
    private_key: Secret | None = option(
        "RSA key in PEM, for clients that sign instead of having a secret.", default=None
    )
    key_id: str | None = option("Id of the private key.", default=None)
    scope: str = option("Scopes to request, separated by blanks.", default="")
    params: Mapping[str, str] = option("More parameters of the token request, such as `audience`.", default={})
    client_auth: Literal["body", "basic"] = option("How id and secret of the client are sent.", default="body")

    def __post_init__(self) -> None:
        if (self.client_secret is None) == (self.private_key is None):
            raise UsageError("a client has a client_secret or a private_key", hint="set one of them")

    def __hash__(self) -> int:
        return hash((self.token_url, self.client_id, self.client_secret, self.scope))  # a map has no hash

    @property
    def scope_shown(self) -> str:
        """The scope that is requested."""
        return self.scope


class Google(TokenAuth):
    """Logs in as a service account of Google, or as a user of a domain that has delegated to it."""

    type = "google"
    credentials: Secret = option('Key of the service account: the JSON text, such as `file("key.json")`.')
    scopes: Sequence[str] = option("Scopes to request.")
    subject: str | None = option("User to act as, by domain-wide delegation.", default=None)

    @property
    def scope_shown(self) -> str:
        """The scopes that are requested."""
        return " ".join(self.scopes)


class AwsSigV4(Auth):
    """Signs each request with AWS Signature Version 4, using the keys of a connection or its own."""

    type = "aws_sigv4"
    service: str = option("Name of the service in signatures, such as `execute-api`.")
    region: str = option("Region of the service.")
    access_key: str | None = option("Access key id.", default=None)
    secret_key: Secret | None = option("Secret access key.", default=None)
    session_token: Secret | None = option("Token of a temporary session.", default=None)
    connection: Connection | None = option("Connection of type `aws` whose credentials are used.", default=None)

    def __post_init__(self) -> None:
        if (self.access_key is None) != (self.secret_key is None):
            raise UsageError("access_key and secret_key must be set together", hint="set both, or a connection")
        if (self.access_key is None) == (self.connection is None):
            raise UsageError(
                "aws_sigv4 needs an access_key or a connection", hint="write connection = connection.aws.NAME"
            )
        if self.connection is not None and self.connection.type != "aws":
            raise UsageError(f"{self.connection.address} is not a connection of type aws")

    def signed(self, request: Request, client: Client) -> Request:
        """With the headers of the signature."""
        keys = self._keys()
        hide_secrets(keys[1], keys[2] or "")
        headers = signed_by_aws(request, client.now(), (self.region, self.service), keys)
        return request._replace(headers={**request.headers, **headers})

    def _keys(self) -> tuple[str, str, str | None]:
        if self.access_key is not None and self.secret_key is not None:
            token = self.session_token.reveal() if self.session_token else None
            return self.access_key, self.secret_key.reveal(), token
        session = self.connection.session()  # type: ignore[union-attr] # checked above: it is one of AWS
        found = session.get_credentials()
        if found is None:
            assert self.connection is not None  # noqa: S101 - checked above
            raise TailpipeError(f"{self.connection.address} has no credentials", hint="run: aws sso login")
        frozen = found.get_frozen_credentials()
        return frozen.access_key, frozen.secret_key, frozen.token


class Hmac(Auth):
    """Signs each request with a shared secret."""

    type = "hmac"
    secret: Secret = option("The shared secret.")
    key_id: str = option("Public id that belongs to the secret.", default="")
    algorithm: Literal["sha1", "sha256", "sha512"] = option("Hash of the signature.", default="sha256")
    message: str = option(
        "What is signed, of `{date}` `{timestamp}` `{method}` `{host}` `{path}` `{query}` `{body}` `{body_hash}`.",
        default="{timestamp}{method}{path}{body}",
    )
    encoding: Literal["hex", "base64"] = option("How the signature is written.", default="hex")
    header: str = option("Header that has the signature.", default="X-Signature")
    value: str = option("Value of that header, with `{signature}` and `{key_id}`.", default="{signature}")
    basic: bool = option("Whether key id and signature are sent as name and password, `Basic …`.", default=False)
    date_header: str = option("Header that has the date, if any.", default="")
    timestamp_header: str = option("Header that has the seconds since 1970, if any.", default="")

    def signed(self, request: Request, client: Client) -> Request:
        """With the signature, and with the time that it holds for."""
        now, parts = client.now(), urlsplit(request.url)
        names = {
            "date": formatdate(now),
            "timestamp": str(int(now)),
            "method": request.method,
            "host": host_of(request.url).lower(),
            "path": parts.path or "/",
            "query": sorted_query(request.url),
            "body": (request.body or b"").decode("utf-8", "replace"),
            "body_hash": hashlib.new(self.algorithm, request.body or b"", usedforsecurity=False).hexdigest(),
        }
        digest = hmac.digest(self.secret.reveal().strip().encode(), fill(self.message, names).encode(), self.algorithm)
        signature = digest.hex() if self.encoding == "hex" else base64.b64encode(digest).decode()
        for header, value in ((self.date_header, names["date"]), (self.timestamp_header, names["timestamp"])):
            if header:
                request = request._replace(headers={**request.headers, header: value})
        if self.basic:
            return _basic(request, self.header, self.key_id, signature)
        return with_header(request, self.header, fill(self.value, {"signature": signature, "key_id": self.key_id}))


def _basic(request: Request, header: str, username: str, password: str) -> Request:
    login = base64.b64encode(f"{username}:{password}".encode()).decode()
    hide_secrets(login)
    return with_header(request, header, f"Basic {login}")
