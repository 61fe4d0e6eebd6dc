"""Ways to log in to Google Cloud and Azure, against servers that check what is sent."""

from __future__ import annotations

import base64
import json
import pickle
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from tailpipe.plugin import Secret, TailpipeError, Window
from tailpipe.plugins.azure.connection import Azure
from tailpipe.plugins.azure.storage import BlobStorage
from tailpipe.plugins.gcp.connection import Gcp
from tailpipe.plugins.gcp.storage import StorageBucket
from tests.clouds.server import ACCOUNT, Cloud

ALL = Window(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC))
_PEM = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(key: rsa.RSAPrivateKey, password: bytes | None = None) -> bytes:
    way = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(*_PEM, way)


@pytest.fixture
def account(cloud: Cloud, key: rsa.RSAPrivateKey) -> dict[str, str]:
    """The JSON of a service account's key; the server checks what it signs."""

    def verify(assertion: str) -> bool:
        signed, _, signature = assertion.rpartition(".")
        try:
            decoded = base64.urlsafe_b64decode(signature + "==")
            key.public_key().verify(decoded, signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        except (InvalidSignature, ValueError):
            return False
        claims = json.loads(base64.urlsafe_b64decode(signed.partition(".")[2] + "=="))
        return bool(claims["iss"] == "reader@p.iam" and claims["scope"].endswith("devstorage.read_only"))

    cloud.tokens, cloud.verify = set(), verify
    cloud.put("logs", "a", "text")
    facts = {"type": "service_account", "client_email": "reader@p.iam", "private_key": pem(key).decode()}
    return facts | {"token_uri": f"{cloud.url}/token", "private_key_id": "1", "project_id": "p"}


def gcs(cloud: Cloud, **options: Any) -> bytes:
    source = StorageBucket(bucket="logs", connection=Gcp(endpoint_url=cloud.url, max_retries=0, **options))
    [artifact] = source.artifacts(ALL)
    return source.open(artifact).read()


def test_a_service_account_logs_in_by_json_path_and_environment(
    cloud: Cloud, account: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key.json").write_text(json.dumps(account))
    assert gcs(cloud, credentials=Secret(json.dumps(account))) == b"text"
    assert gcs(cloud, credentials=Secret(str(tmp_path / "key.json"))) == b"text"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    assert gcs(cloud, quota_project="billed") == b"text"
    assert {one.headers.get("x-goog-user-project") for one in cloud.asked[-2:]} == {"billed"}


def test_a_service_account_acts_as_another(cloud: Cloud, account: dict[str, str]) -> None:
    secret = Secret(json.dumps(account))
    cloud.verify, check = lambda _: True, cloud.verify
    assert check is not cloud.verify
    assert gcs(cloud, credentials=secret, impersonate_service_account="other@p.iam") == b"text"
    assert cloud.tokens == {"impersonated"}
    assert any("other@p.iam:generateAccessToken" in one.path for one in cloud.asked)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"client_email": "other@p.iam"}, "Google refused the credentials of connection.gcp.default"),
        ({"private_key": "no key"}, "the credentials of connection.gcp.default cannot be used"),
        ({"type": "magic"}, "the credentials of connection.gcp.default cannot be used"),
        ({"token_uri": "http://127.0.0.1:1/token"}, "Google does not answer"),
    ],
)
def test_credentials_that_are_wrong_are_not_shown(
    cloud: Cloud, account: dict[str, str], change: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("google.auth._exponential_backoff._DEFAULT_INITIAL_INTERVAL_SECONDS", 0.0, raising=False)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(TailpipeError) as caught:
        gcs(cloud, credentials=Secret(json.dumps(account | change)))
    assert message in caught.value.message
    assert account["private_key"][40:80] not in f"{caught.value.message}{caught.value.hint}"


def test_no_credentials_at_all_are_reported_with_what_to_run(cloud: Cloud) -> None:
    with pytest.raises(TailpipeError, match=r"there are no credentials for connection\.gcp\.default") as caught:
        gcs(cloud)
    assert "gcloud auth application-default login" in (caught.value.hint or "")
    with pytest.raises(TailpipeError, match="cannot be read"):
        gcs(cloud, credentials=Secret("/nowhere/key.json"))


def test_a_source_with_its_connection_travels_to_workers(cloud: Cloud, account: dict[str, str]) -> None:
    connection = Gcp(endpoint_url=cloud.url, credentials=Secret(json.dumps(account)))
    source = StorageBucket(bucket="logs", connection=connection)
    [artifact] = source.artifacts(ALL)
    sent = pickle.loads(pickle.dumps(source))
    assert sent.open(artifact).read() == b"text"
    assert connection.holds_secrets
    assert "private_key" not in repr(source)


class Entra(BaseHTTPRequestHandler):
    """The part of Microsoft Entra that gives tokens to applications."""

    forms: list[dict[str, str]] = []
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        base = f"https://127.0.0.1:{self.server.server_port}/t1"  # type: ignore[attr-defined]
        ends = {"token_endpoint": f"{base}/oauth2/v2.0/token", "authorization_endpoint": f"{base}/authorize"}
        self.answer(200, {**ends, "issuer": f"{base}/v2.0"})

    def do_POST(self) -> None:
        form = dict(parse_qsl(self.rfile.read(int(self.headers["content-length"])).decode()))
        self.forms.append(form)
        if form.get("client_secret", "right") == "right" and form["scope"] == "https://storage.azure.com/.default":
            self.answer(200, {"access_token": "good-token", "token_type": "Bearer", "expires_in": 3600})
        else:
            self.answer(401, {"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret."})

    def answer(self, status: int, facts: dict[str, Any]) -> None:
        body = json.dumps(facts).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def entra(key: rsa.RSAPrivateKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Host and port of such a server, with a certificate of its own."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    file = tmp_path / "certificate.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + pem(key))
    (tmp_path / "locked.pem").write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM) + pem(key, b"open sesame")
    )
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Entra)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Entra.forms = []
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def azure(cloud: Cloud, entra: str, **options: Any) -> bytes:
    url = f"{cloud.url}/{ACCOUNT}"
    connection = Azure(endpoint_url=url, authority_host=entra, tenant_id="t1", client_id="c1", max_retries=0, **options)
    source = BlobStorage(container="logs", account_name=ACCOUNT, connection=connection)
    [artifact] = source.artifacts(ALL)
    return source.open(artifact).read()


def test_an_application_logs_in_by_secret_and_by_certificate(cloud: Cloud, entra: str, tmp_path: Path) -> None:
    cloud.put("logs", "a", "text")
    assert azure(cloud, entra, client_secret=Secret("right")) == b"text"
    assert azure(cloud, entra, certificate_path=str(tmp_path / "certificate.pem")) == b"text"
    locked = {"certificate_path": str(tmp_path / "locked.pem"), "certificate_password": Secret("open sesame")}
    assert azure(cloud, entra, **locked) == b"text"
    assert [sorted(set(form) & {"client_secret", "client_assertion"}) for form in Entra.forms] == [
        ["client_secret"],
        ["client_assertion"],
        ["client_assertion"],
    ]
    assert {one.headers["authorization"] for one in cloud.asked} == {"Bearer good-token"}


def test_what_entra_refuses_is_reported_without_the_secret(cloud: Cloud, entra: str, tmp_path: Path) -> None:
    with pytest.raises(TailpipeError, match=r"Microsoft Entra refused .* \(AADSTS7000215\)") as caught:
        azure(cloud, entra, client_secret=Secret("wrong-secret"))
    assert "wrong-secret" not in f"{caught.value.message}{caught.value.hint}"
    with pytest.raises(TailpipeError, match=r"the certificate of .* cannot be read"):
        azure(cloud, entra, certificate_path="/nowhere.pem")
    with pytest.raises(TailpipeError, match=r"the credentials of .* cannot be used"):
        azure(cloud, entra, certificate_path=str(tmp_path / "locked.pem"))


@pytest.mark.parametrize(
    ("environment", "host"),
    [
        ("public", "https://acct.blob.core.windows.net"),
        ("usgov", "https://acct.blob.core.usgovcloudapi.net"),
        ("china", "https://acct.blob.core.chinacloudapi.cn"),
    ],
)
def test_each_cloud_has_its_own_hosts(environment: Any, host: str) -> None:
    from tailpipe.plugins.azure.connection import _credential

    connection = Azure(environment=environment, tenant_id="t", client_id="c", client_secret=Secret("s"))
    assert connection.blob_url("acct") == host
    authority = {"public": "microsoftonline.com", "usgov": "microsoftonline.us", "china": "chinacloudapi.cn"}
    assert authority[environment] in _credential(connection)._authority


def test_declaring_them_imports_no_library_of_a_cloud() -> None:
    code = (
        "import sys; from tailpipe.plugin import Registry; r = Registry.installed();"
        "r.sources['gcp_storage_bucket'](bucket='x'); r.sources['azure_blob_storage'](container='x', account_name='a');"
        "r.connections['gcp'](); r.connections['azure']();"
        "print([m for m in sys.modules if m.partition('.')[0] in ('google', 'azure', 'obstore', 'requests', 'msal')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['google']"), "re2 may live beside Google's"
