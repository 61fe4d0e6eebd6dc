"""The command line over a container or a bucket of the test server, as a process that can be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.clouds.server import ACCOUNT, ACCOUNT_KEY, Cloud

TABLE = """
table "app" {
  format     = format.jsonl.default
  map_fields = []
  column "tp_timestamp" { source = "time" }
  column "message" { type = "varchar" }
}
partition "app" "x" {
  source "TYPE" {
    connection  = connection.CONNECTION.c
    file_layout = `%{WORD:account}/%{WORD:region}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}`
"""


def azure_config(cloud: Cloud) -> str:
    """The config of a container `logs`, by the key of the account."""
    url = f"{cloud.url}/{ACCOUNT}"
    login = f'connection "azure" "c" {{\n endpoint_url = "{url}"\n account_key = "{ACCOUNT_KEY}"\n}}\n'
    table = TABLE.replace("TYPE", "azure_blob_storage").replace("CONNECTION", "azure")
    return f'{login}{table}    container = "logs"\n    account_name = "{ACCOUNT}"\n  }}\n}}\n'


def gcs_config(cloud: Cloud, directory: Path) -> str:
    """The config of a bucket `logs`, by a key of a service account whatever it signs."""
    cloud.verify = lambda _: True
    path = service_account(cloud, directory)
    login = f'connection "gcp" "c" {{\n endpoint_url = "{cloud.url}"\n credentials = "{path}"\n}}\n'
    table = TABLE.replace("TYPE", "gcp_storage_bucket").replace("CONNECTION", "gcp")
    return f'{login}{table}    bucket = "logs"\n  }}\n}}\n'


def service_account(cloud: Cloud, directory: Path) -> Path:
    """A file with the key of a service account that gets its tokens from the server."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    facts = {"type": "service_account", "client_email": "reader@p.iam", "private_key": pem, "project_id": "p"}
    path = directory / "service-account.json"
    path.write_text(json.dumps({**facts, "token_uri": f"{cloud.url}/token", "private_key_id": "1"}))
    return path


def started(root: Path, config: str, *arguments: str, **more: str) -> subprocess.Popen[str]:
    """A command that runs, in a session of its own, with more variables of the environment."""
    (root / "config").mkdir(parents=True, exist_ok=True)
    (root / "config" / "main.tpc").write_text(config)
    env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(root), **more}
    words = [sys.executable, "-m", "tailpipe", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def done(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """The exit code and the output of a command; no traceback, and no secret."""
    out, err = process.communicate(timeout=200)
    assert "Traceback" not in err, err
    assert ACCOUNT_KEY not in out + err
    assert "PRIVATE KEY" not in out + err
    return process.returncode, out, err
