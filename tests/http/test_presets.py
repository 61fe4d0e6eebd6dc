"""Every preset against a server that answers as the documentation of the service says: request, login, pages, keys."""

from __future__ import annotations

import base64
import hashlib
import hmac
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tailpipe.plugin import Registry
from tailpipe.plugins.http.connection import HttpConnection
from tailpipe.plugins.http.source import HttpSource
from tests.http.authority import make_key, pem
from tests.http.server import Asked, Reply, Server, refusal
from tests.http.world import world
from tests.sampling import sampled
from tests.unit.collect.support import World

ROOT = Path(__file__).parents[2]
NOW = datetime.now(UTC)
DAY = (NOW - timedelta(days=2)).date()
SINCE, UNTIL = f"{DAY}T00:00:00Z", f"{DAY + timedelta(days=1)}T00:00:00Z"
NOON = datetime(DAY.year, DAY.month, DAY.day, 12, tzinfo=UTC)
ISO, MS = NOON.strftime("%Y-%m-%dT%H:%M:%SZ"), int(NOON.timestamp() * 1000)
SECRET = "s3cret-of-the-preset"
IP = "2001:db8::5"
OAUTH = f"""
  tenant_id     = "t1"
  client_id     = "c1"
  client_secret = "{SECRET}"
  auth "oauth2" {{
    token_url     = "URL/t1/token"
    client_id     = "c1"
    client_secret = "{SECRET}"
    scope         = "SCOPE"
  }}
"""

Answer = Callable[[Asked, str], Reply]


@dataclass(frozen=True)
class Case:
    """A preset: how config names it, how the service answers, its table, and the values of a column that is a key."""

    connection: str
    login: str
    source: str
    answer: Answer
    table: str
    column: str
    keys: tuple[str, ...]


def bearer(asked: Asked, name: str = "authorization", value: str = f"Bearer {SECRET}") -> None:
    assert asked.headers[name] == value


def linked(url: str, asked: Asked, rows: list[dict[str, Any]]) -> Reply:
    """Two pages, led to by the header Link, which comes on two lines."""
    if "after" in asked.params:
        return Reply(rows[2:], headers=(("Link", f'<{url}{asked.path}>; rel="self"'),))
    link = f'<{url}{asked.target}&after=2>; rel="next"'
    return Reply(rows[:2], headers=(("Link", f'<{url}{asked.path}>; rel="self"'), ("Link", link)))


def okta(asked: Asked, url: str) -> Reply:
    bearer(asked, value=f"SSWS {SECRET}")
    assert (asked.path, asked.params["limit"], asked.params["sortOrder"]) == ("/api/v1/logs", "1000", "ASCENDING")
    assert (asked.params["since"], asked.params["until"]) == (SINCE, UNTIL)
    return linked(url, asked, [{"uuid": f"u{n}", "published": ISO, "client": {"ipAddress": IP}} for n in range(3)])


def github(asked: Asked, url: str) -> Reply:
    bearer(asked)
    assert asked.path in ("/orgs/acme/audit-log", "/enterprises/acme/audit-log")
    assert asked.params["phrase"] == f"created:{SINCE}..{UNTIL}"
    assert (asked.params["include"], asked.params["order"]) == ("all", "asc")
    return linked(url, asked, [{"_document_id": f"d{n}", "@timestamp": MS, "actor_ip": IP} for n in range(3)])


def given(asked: Asked, scope: str) -> Reply | None:
    """The answer to a request for a token, else None for one that has it."""
    if asked.path.endswith("/token"):
        assert asked.form["scope"] == scope
        assert asked.form["client_secret"] == SECRET
        return Reply({"access_token": "given-token", "expires_in": 3600})
    bearer(asked, value="Bearer given-token")
    return None


def paged(url: str, asked: Asked, rows: list[dict[str, Any]], name: str) -> Reply:
    if "skip" in asked.params:
        return Reply({"value": rows[2:]})
    return Reply({"value": rows[:2], name: f"{url}{asked.target}&skip=2"})


def sign_ins(asked: Asked, url: str) -> Reply:
    assert asked.path in ("/t1/token", "/v1.0/auditLogs/signIns")
    rows = [{"id": f"s{n}", "createdDateTime": ISO, "ipAddress": IP} for n in range(3)]
    if "$filter" in asked.params:
        assert asked.params["$filter"] == f"createdDateTime ge {SINCE} and createdDateTime le {UNTIL}"
    return given(asked, "https://graph.microsoft.com/.default") or paged(url, asked, rows, "@odata.nextLink")


def audits(asked: Asked, url: str) -> Reply:
    assert asked.path in ("/t1/token", "/v1.0/auditLogs/directoryAudits")
    who = {"user": {"ipAddress": IP}}
    rows = [{"id": f"a{n}", "activityDateTime": ISO, "initiatedBy": who} for n in range(3)]
    if "$filter" in asked.params:
        assert asked.params["$filter"] == f"activityDateTime ge {SINCE} and activityDateTime le {UNTIL}"
    return given(asked, "https://graph.microsoft.com/.default") or paged(url, asked, rows, "@odata.nextLink")


def activity(asked: Asked, url: str) -> Reply:
    if (reply := given(asked, "https://management.azure.com/.default")) is not None:
        return reply
    subscription = asked.path.split("/")[2]
    assert asked.path == f"/subscriptions/{subscription}/providers/Microsoft.Insights/eventtypes/management/values"
    assert asked.params["api-version"] == "2015-04-01"
    assert asked.params["$filter"] == f"eventTimestamp ge '{SINCE}' and eventTimestamp le '{UNTIL}'"
    sent = {"clientIpAddress": IP}
    rows = [{"eventDataId": f"{subscription}-{n}", "eventTimestamp": ISO, "httpRequest": sent} for n in range(3)]
    return paged(url, asked, rows, "nextLink")


def entries(asked: Asked, url: str) -> Reply:
    if asked.path == "/token":
        return Reply({"access_token": SECRET, "expires_in": 3600})
    bearer(asked)
    assert (asked.method, asked.path) == ("POST", "/v2/entries:list")
    sent = asked.json
    assert sent["resourceNames"] == ["projects/p"]
    assert sent["filter"] == f'timestamp >= "{SINCE}" AND timestamp < "{UNTIL}" AND severity >= ERROR'
    row = {
        "logName": "projects/p/logs/x",
        "timestamp": ISO,
        "protoPayload": {"requestMetadata": {"callerIp": IP}},
    }
    pages = {None: ({"nextPageToken": "t1"}), "t1": {"entries": [{**row, "insertId": "i1"}], "nextPageToken": "t2"}}
    return Reply(pages.get(sent.get("pageToken"), {"entries": [{**row, "insertId": "i2"}]}))


def workspace(asked: Asked, url: str) -> Reply:
    if asked.path == "/token":
        return Reply({"access_token": SECRET, "expires_in": 3600})
    bearer(asked)
    application = asked.path.rpartition("/")[2]
    assert asked.path == f"/admin/reports/v1/activity/users/all/applications/{application}"
    assert (asked.params["startTime"], asked.params["endTime"]) == (SINCE, UNTIL)
    if application == "admin":
        return Reply({"kind": "admin#reports#activities"})
    row = {"time": ISO, "applicationName": application}
    token = asked.params.get("pageToken")
    rows = [{"id": {**row, "uniqueQualifier": f"{'b' if token else 'a'}{n}"}, "ipAddress": IP} for n in range(2)]
    return Reply({"items": rows, **({} if token else {"nextPageToken": "p2"})})


def content(asked: Asked, url: str) -> Reply:
    if (reply := given(asked, "https://manage.office.com/.default")) is not None:
        return reply
    if asked.path.startswith("/audit/"):
        name = asked.path.rpartition("/")[2]
        client = {"ClientIP": f"[{IP}]:4711"}
        first = {"Id": name, "CreationTime": ISO.removesuffix("Z"), **client}
        return Reply([first, {"Id": "twice", "CreationTime": ISO, **client}])
    assert asked.path == "/activity/feed/subscriptions/content"
    assert asked.params["startTime"] == SINCE.removesuffix("Z")
    kind = asked.params["contentType"]
    if "nextPage" in asked.params:
        return Reply([{"contentUri": f"{url}/audit/{kind}-2"}])
    header = (("NextPageUri", f"{url}{asked.target}&nextPage=1"),)
    return Reply([{"contentUri": f"{url}/audit/{kind}-1"}], headers=header)


def slack(asked: Asked, url: str) -> Reply:
    bearer(asked)
    assert asked.path == "/audit/v1/logs"
    assert int(asked.params["latest"]) - int(asked.params["oldest"]) == 86400
    rows = [{"id": f"l{n}", "date_create": MS // 1000, "context": {"ip_address": IP}} for n in range(3)]
    if asked.params.get("cursor") == "c2":
        return Reply({"entries": rows[2:], "response_metadata": {"next_cursor": ""}})
    return Reply({"entries": rows[:2], "response_metadata": {"next_cursor": "c2"}})


def onepassword(asked: Asked, url: str) -> Reply:
    bearer(asked)
    kind = asked.path.removeprefix("/api/v2/")
    assert kind in ("auditevents", "itemusages", "signinattempts")
    row = {"timestamp": ISO, **({"session": {"ip": IP}} if kind == "auditevents" else {"client": {"ip_address": IP}})}
    if "cursor" in asked.json:
        assert asked.json == {"cursor": "c2"}
        return Reply({"items": [{**row, "uuid": f"{kind}-2"}], "cursor": "c3", "has_more": False})
    assert asked.json == {"limit": 100, "start_time": SINCE, "end_time": UNTIL}
    return Reply({"items": [{**row, "uuid": f"{kind}-1"}], "cursor": "c2", "has_more": True})


def gitlab(asked: Asked, url: str) -> Reply:
    bearer(asked, "private-token", SECRET)
    assert asked.path in ("/api/v4/audit_events", "/api/v4/groups/a/b/audit_events")
    assert (asked.params["created_after"], asked.params["pagination"]) == (SINCE, "keyset")
    return linked(url, asked, [{"id": n, "created_at": ISO, "details": {"ip_address": IP}} for n in range(3)])


def duo(asked: Asked, url: str) -> Reply:
    text = "\n".join(
        [
            asked.headers["date"],
            "GET",
            asked.headers["host"],
            asked.path,
            "&".join(sorted(asked.target.partition("?")[2].split("&"))),
        ]
    )
    signature = hmac.new(SECRET.encode(), text.encode(), hashlib.sha1).hexdigest()
    bearer(asked, value="Basic " + base64.b64encode(f"DI1:{signature}".encode()).decode())
    assert asked.path == "/admin/v2/logs/authentication"
    assert int(asked.params["maxtime"]) - int(asked.params["mintime"]) == 86_400_000
    rows = [{"txid": f"t{n}", "isotimestamp": ISO, "access_device": {"ip": IP}} for n in range(3)]
    if asked.params.get("next_offset") == "1547486297000,5bea5c1e":
        return Reply({"response": {"authlogs": rows[2:], "metadata": {"next_offset": None}}})
    metadata = {"next_offset": ["1547486297000", "5bea5c1e"], "total_objects": 3}
    return Reply({"response": {"authlogs": rows[:2], "metadata": metadata}})


def cloudflare(asked: Asked, url: str) -> Reply:
    bearer(asked)
    account = asked.path.split("/")[4]
    assert asked.path == f"/client/v4/accounts/{account}/audit_logs"
    assert (asked.params["since"], asked.params["before"]) == (SINCE, UNTIL)
    rows = [{"id": f"{account}-{n}", "when": ISO, "actor": {"ip": IP}} for n in range(3)]
    place = (int(asked.params["page"]) - 1) * 2
    return Reply({"result": rows[place : place + 2], "result_info": {"page": 1, "per_page": 2}})


def auth0(asked: Asked, url: str) -> Reply:
    if asked.path == "/oauth/token":
        assert asked.form["audience"] == "https://acme.eu.auth0.com/api/v2/"
        assert (asked.form["client_id"], asked.form["client_secret"]) == ("c1", SECRET)
        return Reply({"access_token": "given-token", "expires_in": 3600})
    bearer(asked, value="Bearer given-token")
    assert (asked.path, asked.params["sort"], asked.params["per_page"]) == ("/api/v2/logs", "date:1", "100")
    since, _, until = asked.params["q"].removeprefix("date:[").removesuffix("]").partition(" TO ")
    place = int(asked.params["page"]) * 100
    assert datetime.fromisoformat(until) - datetime.fromisoformat(since) == timedelta(hours=1)
    if not since <= ISO.replace("Z", ".000Z") <= until:  # both ends belong to it
        return Reply([])
    rows = [{"log_id": f"900-{n}", "date": ISO, "type": "s", "ip": IP} for n in range(120)]
    return Reply(rows[place : place + 100])


def pipes(asked: Asked, url: str) -> Reply:
    bearer(asked)
    organization = asked.path.split("/")[4]
    assert asked.path == f"/api/v0/org/{organization}/audit_log"
    assert asked.params["limit"] == "100"
    pages = [
        [(f"{organization}-new", NOON + timedelta(days=1)), (f"{organization}-0", NOON)],
        [(f"{organization}-1", NOON), (f"{organization}-old", NOON - timedelta(days=1))],
    ]
    number = int(asked.params.get("next_token", 0))
    items = [{"id": key, "created_at": f"{at:%Y-%m-%dT%H:%M:%SZ}", "actor_ip": IP} for key, at in pages[number]]
    return Reply({"items": items, "next_token": str(number + 1)})


def service_account(url: str) -> str:
    facts = {"client_email": "a@b.example", "private_key": pem(make_key()), "token_uri": f"{url}/token"}
    return json.dumps(facts).replace("\\", "\\\\").replace('"', '\\"')


TOKEN = f'token = "{SECRET}"'
GRAPH = OAUTH.replace("SCOPE", "https://graph.microsoft.com/.default")
SUBSCRIPTIONS = 'subscription_ids = ["s1", "s2"]'
ENTRIES = 'resource_names = ["projects/p"]\n filter = "AND severity >= ERROR"'
CASES = {
    "okta_system_log_api": Case("okta", TOKEN, "", okta, "okta_system_log", "uuid", ("u0", "u1", "u2")),
    "github_audit_log_api": Case(
        "github", TOKEN, 'organizations = ["acme"]', github, "github_audit_log", "document_id", ("d0", "d1", "d2")
    ),
    "github_enterprise_audit_log_api": Case(
        "github", TOKEN, 'enterprise = "acme"', github, "github_audit_log", "document_id", ("d0", "d1", "d2")
    ),
    "entra_signin_api": Case("entra", GRAPH, "", sign_ins, "azure_signin_log", "id", ("s0", "s1", "s2")),
    "entra_audit_api": Case("entra", GRAPH, "", audits, "azure_audit_log", "id", ("a0", "a1", "a2")),
    "azure_activity_log_api": Case(
        "azure_management",
        OAUTH.replace("SCOPE", "https://management.azure.com/.default"),
        SUBSCRIPTIONS,
        activity,
        "azure_activity_log",
        "event_data_id",
        tuple(f"{one}-{n}" for one in ("s1", "s2") for n in range(3)),
    ),
    "gcp_logging_api": Case(
        "gcp_logging", 'credentials = "KEY"', ENTRIES, entries, "gcp_audit_log", "insert_id", ("i1", "i2")
    ),
    "google_workspace_reports_api": Case(
        "google_workspace",
        'credentials = "KEY"\n subject = "me@b.example"',
        'applications = ["login", "admin"]',
        workspace,
        "google_workspace_activity",
        "unique_qualifier",
        ("a0", "a1", "b0", "b1"),
    ),
    "m365_management_api": Case(
        "m365",
        OAUTH.replace("SCOPE", "https://manage.office.com/.default"),
        'content_types = ["Audit.General", "DLP.All"]',
        content,
        "m365_audit_log",
        "id",
        ("Audit.General-1", "Audit.General-2", "DLP.All-1", "DLP.All-2", "twice"),
    ),
    "slack_audit_log_api": Case("slack", TOKEN, "", slack, "slack_audit_log", "id", ("l0", "l1", "l2")),
    **{
        f"onepassword_events_api {events}": Case(
            "onepassword", TOKEN, f'events = ["{events}"]', onepassword, table, "uuid", (f"{events}-1", f"{events}-2")
        )
        for events, table in {
            "auditevents": "onepassword_audit_event",
            "itemusages": "onepassword_item_usage",
            "signinattempts": "onepassword_signin_attempt",
        }.items()
    },
    "gitlab_audit_api": Case("gitlab", TOKEN, "", gitlab, "gitlab_audit_log", "id", ("0", "1", "2")),
    "gitlab_group_audit_api": Case(
        "gitlab", TOKEN, 'groups = ["a/b"]', gitlab, "gitlab_audit_log", "id", ("0", "1", "2")
    ),
    "duo_auth_api": Case(
        "duo",
        f'integration_key = "DI1"\n secret_key = "{SECRET}"\n rate_limit {{ requests = 600 }}',
        "",
        duo,
        "duo_auth_log",
        "txid",
        ("t0", "t1", "t2"),
    ),
    "cloudflare_audit_api": Case(
        "cloudflare",
        TOKEN,
        'account_ids = ["x", "y"]',
        cloudflare,
        "cloudflare_audit_log",
        "id",
        tuple(f"{one}-{n}" for one in ("x", "y") for n in range(3)),
    ),
    "auth0_logs_api": Case(
        "auth0",
        f"""
  domain        = "acme.eu.auth0.com"
  client_id     = "c1"
  client_secret = "{SECRET}"
  auth "oauth2" {{
    token_url     = "URL/oauth/token"
    client_id     = "c1"
    client_secret = "{SECRET}"
    params        = {{ audience = "https://acme.eu.auth0.com/api/v2/" }}
  }}
""",
        "",
        auth0,
        "auth0_log",
        "log_id",
        tuple(f"900-{n}" for n in range(120)),
    ),
    "pipes_audit_log_api": Case(
        "pipes",
        TOKEN,
        'organizations = ["a", "b"]',
        pipes,
        "pipes_audit_log",
        "id",
        ("a-0", "a-1", "b-0", "b-1"),
    ),
}


def source_of(name: str) -> str:
    return name.partition(" ")[0]


def made_world(name: str, server: Server, tmp_path: Path) -> World:
    case = CASES[name]
    login = case.login.replace("URL", server.url)
    login = login.replace("KEY", service_account(server.url)) if "KEY" in login else login
    text = f"""
connection "{case.connection}" "main" {{
  base_url = "{server.url}"
{login}
}}
partition "{case.table}" "x" {{
  source "{source_of(name)}" {{
    connection = connection.{case.connection}.main
{case.source}
  }}
}}
"""
    return world(tmp_path, text, NOW)


def presets() -> dict[str, type[HttpSource]]:
    found = {name: one for name, one in Registry.installed().sources.items() if issubclass(one, HttpSource)}
    return {name: one for name, one in found.items() if one is not HttpSource}


def test_every_preset_has_a_case() -> None:
    assert {(source_of(name), case.table) for name, case in CASES.items()} == {
        (name, table) for name, preset in presets().items() for table in preset.tables
    }


@pytest.mark.parametrize("name", sampled(CASES, 4))
def test_a_preset_collects_every_event_once(name: str, server: Server, tmp_path: Path) -> None:
    case, problems = CASES[name], []

    def answer(asked: Asked) -> Reply:
        try:
            return case.answer(asked, server.url)
        except (AssertionError, KeyError) as error:
            problems.append(repr(error))
            return refusal(400)

    server.answer = answer
    made = made_world(name, server, tmp_path)
    summary = made.collect(str(DAY), str(DAY))
    assert problems == []
    assert summary.is_done, summary
    partition = f"{case.table}.x"
    assert sorted(map(str, made.rows(case.column, partition))) == sorted(case.keys)
    assert set(made.rows("tp_timestamp::VARCHAR", partition)) == {NOON.strftime("%Y-%m-%d %H:%M:%S")}
    if case.table in Registry.installed().tables:
        assert set(made.rows("tp_source_ip", partition)) == {IP}
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert not [path for path in files if SECRET.encode() in path.read_bytes() or b"given-token" in path.read_bytes()]


@pytest.mark.parametrize("name", sampled(CASES, 4))
def test_a_refusal_names_the_connection_and_the_smallest_permission(name: str, server: Server, tmp_path: Path) -> None:
    server.answer = lambda asked: Reply({"access_token": SECRET}) if asked.path.endswith("token") else refusal(401)
    summary = made_world(name, server, tmp_path).collect(str(DAY), str(DAY))
    assert f"refuses connection.{CASES[name].connection}.main (401 Unauthorized)" in str(summary)
    assert SECRET not in str(summary)


def test_a_preset_without_its_login_says_what_is_missing(tmp_path: Path) -> None:
    text = 'partition "okta_system_log" "x" {\n source "okta_system_log_api" {}\n}'
    summary = world(tmp_path, text, NOW).collect(str(DAY), str(DAY))
    assert 'connection.okta.default has no argument "domain"' in str(summary)
    text += '\nconnection "okta" "default" { domain = "acme.okta.com" }'
    (tmp_path / "second").mkdir()
    summary = world(tmp_path / "second", text, NOW).collect(str(DAY), str(DAY))
    assert 'connection.okta.default has no argument "token"' in str(summary)


@pytest.mark.slow
def test_a_range_with_as_many_events_as_auth0_gives_is_refused(server: Server, tmp_path: Path) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.path == "/oauth/token":
            return Reply({"access_token": "given-token", "expires_in": 3600})
        page = int(asked.params["page"])
        return Reply([{"log_id": f"900-{page}-{n}", "date": ISO, "type": "s"} for n in range(100)])

    server.answer = answer
    made = made_world("auth0_logs_api", server, tmp_path)
    summary = made.collect(str(DAY), str(DAY))
    assert "the service gives 1,000 records of a range at most, and there may be more" in str(summary)
    assert "set a shorter step than 1h" in str(summary)
    assert made.rows("log_id", "auth0_log.x") == []
    assert {asked.params["page"] for asked in server.asked if "page" in asked.params} <= set(map(str, range(10)))


@pytest.mark.parametrize("name", CASES)
def test_the_page_of_a_preset_says_what_it_rests_on(name: str) -> None:
    pages = [path.read_text() for path in (ROOT / "docs" / "apis").glob("*.md") if path.name != "README.md"]
    [page] = [page for page in pages if f"- `{source_of(name)}` " in page]
    for part in ("**Buckets.**", "Permissions.", "Limits and retention.", "Not verified.", "](https://"):
        assert part in page
    assert f'connection "{CASES[name].connection}" "main"' in page
    assert f'partition "{CASES[name].table}"' in page


@pytest.mark.parametrize("name", CASES)
def test_a_preset_is_data(name: str) -> None:
    source = presets()[source_of(name)]
    connection = Registry.installed().connections[CASES[name].connection]
    assert issubclass(connection, HttpConnection)
    for declared in (source, connection):
        own = [one for one, value in vars(declared).items() if inspect.isfunction(value) and not one.startswith("__")]
        assert own == []
