"""How to log in to Microsoft Azure."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import urlsplit

from tailpipe.plugin import Connection, Secret, TailpipeError, UsageError, option
from tailpipe.plugins.checks import check_retries

CLOUDS = {
    "public": ("login.microsoftonline.com", "core.windows.net"),
    "usgov": ("login.microsoftonline.us", "core.usgovcloudapi.net"),
    "china": ("login.chinacloudapi.cn", "core.chinacloudapi.cn"),
}
"""The host that logs in, and what the hosts of storage accounts end with."""
_WAYS = ("client_secret", "certificate_path", "account_key", "sas_token")
_SCOPE = "https://storage.azure.com/.default"
LOCATION = re.compile(r"([^@]+)@([a-z0-9]+)\.(?:dfs|blob)\.([a-z0-9.-]+)")
"""Container, storage account, and what the host ends with, of an `abfss://` location."""


def _check_endpoint(url: str) -> None:
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc or urlsplit(url).query:
        raise UsageError(
            f'"{url}" is not the address of a storage account', hint="write it as https://account.blob.example.com"
        )


def _check_authority(host: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9.-]+(:\d+)?", host):
        raise UsageError(f'"{host}" is not a host', hint="write it as login.example.com")


def _check_account_key(key: Secret) -> None:
    try:
        base64.b64decode(key.reveal(), validate=True)
    except ValueError:
        raise UsageError("account_key is not base64", hint="copy the key as the portal shows it") from None


class Azure(Connection):
    """Microsoft Azure; without options, the usual chain of environment, managed identity and `az login`."""

    type = "azure"
    object_schemes = ("az", "abfs", "abfss")
    tenant_id: str | None = option("Directory (tenant) id.", default=None)
    client_id: str | None = option("Application (client) id, or that of a managed identity.", default=None)
    client_secret: Secret | None = option("Secret of the application.", default=None)
    certificate_path: str | None = option(
        "PEM or PKCS #12 file with certificate and key of the application.", default=None
    )
    certificate_password: Secret | None = option("Password of that file.", default=None)
    account_name: str | None = option("Default storage account of sources.", default=None)
    account_key: Secret | None = option("Key of the storage account.", default=None, check=_check_account_key)
    sas_token: Secret | None = option("Shared access signature of a container or account.", default=None)
    environment: Literal["public", "usgov", "china"] = option("Which cloud.", default="public")
    authority_host: str | None = option("Login host, for other clouds.", default=None, check=_check_authority)
    endpoint_url: str | None = option(
        "Address of the storage account, if it is not the usual one, such as an emulator.",
        default=None,
        check=_check_endpoint,
    )
    max_retries: int = option("How many times to retry a request.", default=9, check=check_retries)

    def __post_init__(self) -> None:
        ways = [name for name in _WAYS if getattr(self, name)]
        if len(ways) > 1:
            raise UsageError(f"a connection has one of {' and '.join(ways)}, not both", hint="remove one of them")
        if ways and ways[0] in ("client_secret", "certificate_path") and not (self.tenant_id and self.client_id):
            raise UsageError(f"{ways[0]} needs a tenant_id and a client_id", hint="set all three")
        if self.certificate_password is not None and self.certificate_path is None:
            raise UsageError("certificate_password belongs to a certificate_path", hint="set both, or neither")

    def blob_url(self, account: str) -> str:
        """The address of a storage account."""
        return (self.endpoint_url or f"https://{account}.blob.{CLOUDS[self.environment][1]}").rstrip("/")

    def login(self) -> Any:
        """What gives tokens; the same one each time, in a process. Not for keys and signatures."""
        return _login(self)

    def object_store(self, location: str) -> Any:
        """The container of `az://container/prefix` or `abfss://container@account.dfs.core.windows.net/prefix`."""
        from tailpipe.plugins.azure.container import make_store

        parts = urlsplit(location)
        if parts.scheme not in self.object_schemes:
            return super().object_store(location)
        if (match := LOCATION.fullmatch(parts.netloc)) is not None:
            return make_store(self, match[2], match[1], f"https://{match[2]}.blob.{match[3]}")
        if self.account_name is None:
            raise UsageError(
                f'cannot open "{location}": no storage account is set', hint=f"set account_name of {self.address}"
            )
        return make_store(self, self.account_name, parts.netloc)


@lru_cache(maxsize=16)
def _login(connection: Azure) -> Any:
    from tailpipe.plugins.buckets.login import Login

    return Login.by(lambda: _credential(connection), _token, lambda error: _no_token(connection, error))


def _token(credential: Any) -> tuple[str, datetime]:
    token = credential.get_token(_SCOPE)
    return token.token, datetime.fromtimestamp(token.expires_on, UTC)


def _credential(connection: Azure) -> Any:
    from tailpipe.plugins.buckets.rest import imported

    identity = imported("azure.identity", "azure")
    common: dict[str, Any] = {"authority": connection.authority_host or CLOUDS[connection.environment][0]}
    if connection.authority_host is not None:
        common |= {"disable_instance_discovery": True}
    if connection.client_secret is not None:
        return identity.ClientSecretCredential(
            connection.tenant_id, connection.client_id, connection.client_secret.reveal(), **common
        )
    if connection.certificate_path is not None:
        password = connection.certificate_password.reveal() if connection.certificate_password else None
        return identity.CertificateCredential(
            connection.tenant_id, connection.client_id, connection.certificate_path, password=password, **common
        )
    return identity.DefaultAzureCredential(
        managed_identity_client_id=connection.client_id,
        exclude_interactive_browser_credential=True,
        **({"additionally_allowed_tenants": [connection.tenant_id]} if connection.tenant_id else {}),
        **common,
    )


def _no_token(connection: Azure, error: Exception) -> TailpipeError:
    from tailpipe.plugins.buckets.rest import imported

    faults = imported("azure.core.exceptions", "azure")
    own = connection.address
    has_own = connection.client_secret is not None or connection.certificate_path is not None
    if isinstance(error, OSError):
        hint = f"set certificate_path of {own} to a readable file"
        return TailpipeError(f"the certificate of {own} cannot be read", hint=hint)
    if not isinstance(error, faults.AzureError):
        hint = f"check certificate_path, certificate_password, tenant_id and client_id of {own}"
        return TailpipeError(f"the credentials of {own} cannot be used", hint=hint)
    if isinstance(error, faults.ClientAuthenticationError) and has_own:
        # Its text is long and names addresses; the code at its beginning is what one can look up.
        code = re.search(r"AADSTS\d+", str(error))
        why = f" ({code[0]})" if code else ""
        hint = f"check tenant_id, client_id and the secret or certificate of {own}"
        return TailpipeError(f"Microsoft Entra refused the credentials of {own}{why}", hint=hint)
    if isinstance(error, faults.ServiceRequestError | faults.ServiceResponseError):
        return TailpipeError(f"cannot log in with {own}: Microsoft Entra does not answer", hint="check the network")
    hint = f"run: az login, or set client_secret, account_key or sas_token of {own}"
    return TailpipeError(f"there are no credentials for {own}", hint=hint)
