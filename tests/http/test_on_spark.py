"""The same on Spark: tasks resolve the connection themselves, rows are exact, and no secret is written anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.http.server import Asked, Events, Reply, Server, refusal
from tests.http.world import SOURCE, config

SECRET = "s3cret-of-the-client"
CONNECTION = f"""
  auth "oauth2" {{
    token_url     = "URL/token"
    client_id     = "me"
    client_secret = "{SECRET}"
    scope         = "logs.read"
  }}
  rate_limit {{
    parallel = 2
  }}
"""


def run(install: Path, *arguments: str) -> tuple[str, str]:
    env = {
        **os.environ,
        "HOME": str(install),
        "TAILPIPE_INSTALL_DIR": str(install),
        "TAILPIPE_LOG_LEVEL": "debug,tailpipe=debug",
    }
    call = [sys.executable, "-m", "tailpipe", *arguments]
    done = subprocess.run(call, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


@pytest.mark.slow
def test_a_collection_on_spark_is_exact_and_writes_no_secret(server: Server, tmp_path: Path) -> None:
    api = Events(server, includes_end=True)
    for day in range(1, 8):
        api.say(f"2024-03-0{day}", *(f"name-{day}-{number}" for number in range(5)))
        api.say(f"2024-03-0{day}", f"midnight-{day}", at="00:00:00")
    given = 0

    def answer(asked: Asked) -> Reply:
        nonlocal given
        if asked.path == "/token":
            given += 1
            return Reply({"access_token": f"given-token-{given}", "expires_in": 3600})
        if not asked.headers.get("authorization", "").startswith("Bearer given-token-"):
            return refusal(401)
        return api.answer(asked)

    server.answer = answer
    text = config(server.url, SOURCE + 'pagination "link_header" {}', CONNECTION.replace("URL", server.url))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "main.tpc").write_text(text + 'workspace "default" { spark { master = "local[4]" } }')
    printed = [*run(tmp_path, "collect", "--from", "2024-03-01", "--to", "2024-03-07")]
    printed += run(tmp_path, "collect", "--from", "2024-03-05", "--to", "2024-03-07", "--overwrite")
    question = "SELECT count(*) AS n, count(DISTINCT tp_id) AS ids, count(DISTINCT id) AS keys FROM audit"
    found, talk = run(tmp_path, "query", question, "--output", "json")
    [row] = json.loads(found)
    assert row == {"n": 42, "ids": 42, "keys": 42}
    assert server.most_at_once <= 2
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".tpc"]
    texts = [*printed, talk, *(path.read_bytes().decode("latin-1") for path in files)]
    assert not [one for one in texts if SECRET in one or "given-token" in one]
