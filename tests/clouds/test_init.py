"""`init` on buckets of Google and containers of Azure: the config that it writes collects them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tailpipe.cli.app import app
from tailpipe.plugins.azure.storage import BlobStorage
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.clouds.commands import service_account
from tests.clouds.server import ACCOUNT, ACCOUNT_KEY, Cloud

TODAY = datetime.now(UTC).date()
AZURE = 'connection "azure" "NAME" {\n  endpoint_url = "URL"\n  account_key = "KEY"\n  MORE\n}\n'
GCP = 'connection "gcp" "NAME" {\n  endpoint_url = "URL"\n}\n'


def fill(cloud: Cloud, folder: str = "app/") -> None:
    for back in (0, 1):
        day = TODAY - timedelta(days=back)
        rows = [{"time": f"{day}T00:00:00Z", "user": f"u{n}", "size": n} for n in range(5)]
        cloud.put("logs", f"{folder}{day:%Y/%m/%d}/part-{back}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def configure(root: Path, text: str) -> None:
    (root / "config").mkdir(parents=True, exist_ok=True)
    (root / "config" / "main.tpc").write_text(text)


def run(root: Path, *arguments: str) -> Result:
    env = {"TAILPIPE_INSTALL_DIR": str(root), "HOME": str(root)}
    return CliRunner().invoke(app, arguments, env=env, standalone_mode=False, catch_exceptions=True)


def azure(cloud: Cloud, name: str = "default", more: str = f'account_name = "{ACCOUNT}"') -> str:
    url = f"{cloud.url}/{ACCOUNT}"
    return AZURE.replace("NAME", name).replace("URL", url).replace("KEY", ACCOUNT_KEY).replace("MORE", more)


def collected(root: Path, name: str = "app_log") -> list[tuple[object, ...]]:
    workspace = Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(root), "HOME": str(root)}, engine=InProcessEngine())
    report = workspace.collect()
    assert report.is_done
    with workspace.session() as session:
        return list(session.run(f"SELECT count(*), count(DISTINCT tp_date), sum(size)::INT FROM {name}").rows)


@pytest.fixture
def google(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    """The credentials are those of the environment."""
    cloud.verify = lambda _: True
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(service_account(cloud, tmp_path)))
    return cloud


def test_a_bucket_of_google_is_inferred_and_collected(google: Cloud, tmp_path: Path) -> None:
    fill(google)
    configure(tmp_path, GCP.replace("NAME", "default").replace("URL", google.url))
    done = run(tmp_path, "init", "gs://logs/app/", "--name", "app_log")
    assert done.exception is None, done.output
    text = (tmp_path / "config" / "app_log.tpc").read_text()
    assert 'partition "app_log" "logs"' in text
    assert 'source "gcp_storage_bucket"' in text
    assert "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}" in text
    assert collected(tmp_path) == [(10, 2, 20)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "more"),
    [
        ("az://logs/app/", f'account_name = "{ACCOUNT}"'),
        pytest.param(f"abfss://logs@{ACCOUNT}.dfs.core.windows.net/app", "", marks=pytest.mark.slow),
    ],
)
def test_a_container_of_azure_is_inferred_and_collected(cloud: Cloud, tmp_path: Path, target: str, more: str) -> None:
    fill(cloud)
    configure(tmp_path, azure(cloud, more=more))
    done = run(tmp_path, "init", target, "--name", "app_log")
    assert done.exception is None, done.output
    text = (tmp_path / "config" / "app_log.tpc").read_text()
    assert 'partition "app_log" "logs"' in text
    assert 'source "azure_blob_storage"' in text
    assert (f'"{ACCOUNT}"' in text) == target.startswith("abfss")
    assert ACCOUNT_KEY not in text + done.output
    assert collected(tmp_path) == [(10, 2, 20)]


@pytest.mark.parametrize(
    ("location", "options"),
    [
        ("abfss://logs@acme.dfs.core.windows.net", {"account_name": "acme", "container": "logs", "prefix": ""}),
        ("abfs://logs@acme.blob.core.windows.net/a/", {"account_name": "acme", "container": "logs", "prefix": "a"}),
        ("abfss://logs@acme.dfs.core.windows.net/a/*.gz", {"account_name": "acme", "paths": ("az://logs/a/*.gz",)}),
    ],
)
def test_an_address_of_azure_names_account_container_and_folder(location: str, options: dict[str, object]) -> None:
    assert BlobStorage.options_at(location, None) == options


@pytest.mark.slow
def test_another_connection_is_named_and_tables_are_recognised_by_the_whole_key(cloud: Cloud, tmp_path: Path) -> None:
    day = TODAY - timedelta(days=1)
    place = "resourceId=/SUBSCRIPTIONS/11111111-2222-3333-4444-555555555555"
    event: dict[str, object] = {
        "time": f"{day}T10:00:00Z",
        "operationName": "MICROSOFT.AUTHORIZATION/ROLEASSIGNMENTS/WRITE",
    }
    event |= {"category": "Administrative", "resultType": "Success", "level": "Information", "correlationId": "c"}
    event |= {"resourceId": place.partition("=")[2], "callerIpAddress": "192.0.2.1", "identity": {"claims": {"a": "b"}}}
    name = f"{place}/y={day:%Y}/m={day:%m}/d={day:%d}/h=10/m=00/PT1H.json"
    cloud.put("insights-activity-logs", name, (json.dumps(event) + "\n") * 3, kind="AppendBlob")
    configure(tmp_path, azure(cloud, "audit"))
    done = run(tmp_path, "init", "az://insights-activity-logs/resourceId=/", "--connection", "audit")
    assert done.exception is None, done.output
    assert "layout of the table" in done.output
    text = (tmp_path / "config" / "azure_activity_log.tpc").read_text()
    assert "connection.azure.audit" in text
    workspace = Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(tmp_path)}, engine=InProcessEngine())
    (summary,) = workspace.collect().partitions
    assert summary.accounts.kept == 3


@pytest.mark.parametrize(
    ("target", "flags", "message"),
    [
        ("az://logs/", (), '"az://logs/" names no storage account'),
        ("abfss://logs@acme.dfs.core.chinacloudapi.cn/", (), "is not in the cloud of connection.azure.default"),
        ("gs://no_bucket?/", (), '"no_bucket?" is not the name of a bucket'),
        ("gs://logs/", ("--connection", "none"), "connection not found: gcp.none"),
        ("app.log", ("--connection", "x"), "--connection needs a bucket"),
        ("hdfs://logs/", (), '"hdfs://logs/" is not a file, directory or bucket'),
    ],
)
def test_a_target_that_cannot_be_meant_is_refused(
    tmp_path: Path, target: str, flags: tuple[str, ...], message: str
) -> None:
    done = run(tmp_path, "init", target, *flags)
    assert done.exception is not None
    assert message in str(done.exception)


def test_a_bucket_that_is_not_there_is_named(google: Cloud, tmp_path: Path) -> None:
    configure(tmp_path, GCP.replace("NAME", "default").replace("URL", google.url))
    done = run(tmp_path, "init", "gs://nothing-here/")
    assert "nothing-here" in str(done.exception)
    assert not (tmp_path / "config" / "nothing-here.tpc").exists()
