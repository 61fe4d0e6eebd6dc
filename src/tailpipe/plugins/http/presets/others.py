"""Slack, 1Password, GitLab, Duo, Cloudflare, Auth0 and Turbot Pipes."""

from __future__ import annotations

from tailpipe.plugin import Secret, option
from tailpipe.plugins.http.auth import Bearer, Header, Hmac, OAuth2
from tailpipe.plugins.http.connection import HttpConnection, RateLimit
from tailpipe.plugins.http.pagination import Cursor, LinkHeader, Numbered
from tailpipe.plugins.http.ranges import TimeRange
from tailpipe.plugins.http.source import HttpSource


class Slack(HttpConnection):
    """A Slack Enterprise organization."""

    type = "slack"
    token: Secret | None = option("User token of the owner of the organization.", default=None)
    base_url = "https://api.slack.com"
    auth = Bearer(token=Secret("{token}"))
    rate_limit = RateLimit(requests=50, per="1m")


class SlackAuditLogApi(HttpSource):
    """Requests the audit log of Slack."""

    type = "slack_audit_log_api"
    tables = ("slack_audit_log",)
    needs = "auditlogs:read"
    connection: Slack = option("How to log in to Slack.")
    path = "/audit/v1/logs"
    params = {"oldest": "{from}", "latest": "{to}", "limit": "1000"}
    window = TimeRange(format="epoch")
    records = "entries"
    key = "id"
    time = "date_create"
    pagination = Cursor(path="response_metadata.next_cursor", param="cursor")


class OnePassword(HttpConnection):
    """A 1Password Business account."""

    type = "onepassword"
    token: Secret | None = option("Bearer token of an Events Reporting integration.", default=None)
    base_url = "https://events.1password.com"
    auth = Bearer(token=Secret("{token}"))
    rate_limit = RateLimit(requests=600, per="1m")


class OnePasswordEventsApi(HttpSource):
    """Requests the events of 1Password."""

    type = "onepassword_events_api"
    tables = ("onepassword_audit_event", "onepassword_item_usage", "onepassword_signin_attempt")
    connection: OnePassword = option("How to log in to 1Password.")
    events: tuple[str, ...] = option("Kind of events: `auditevents`, `itemusages` or `signinattempts`.")
    path = "/api/v2/{events}"
    method = "POST"
    body = {"limit": 100, "start_time": "{from}", "end_time": "{to}"}
    window = TimeRange(max_age="120d")
    records = "items"
    key = "uuid"
    time = "timestamp"
    pagination = Cursor(path="cursor", body="cursor", has_more="has_more", alone=True)


class GitLab(HttpConnection):
    """GitLab.com, or a self-managed instance."""

    type = "gitlab"
    token: Secret | None = option("Access token.", default=None)
    base_url = "https://gitlab.com"
    auth = Header(name="PRIVATE-TOKEN", value=Secret("{token}"))


class AuditEventsApi(HttpSource):
    """Requests audit events of GitLab."""

    tables = ("gitlab_audit_log",)
    connection: GitLab = option("How to log in to GitLab.")
    params = {"created_after": "{from}", "created_before": "{to}", "pagination": "keyset", "per_page": "100"}
    key = "id"
    time = "created_at"
    pagination = LinkHeader()


class GitLabAuditApi(AuditEventsApi):
    """Requests the audit events of an instance of GitLab."""

    type = "gitlab_audit_api"
    path = "/api/v4/audit_events"


class GitLabGroupAuditApi(AuditEventsApi):
    """Requests the audit events of groups of GitLab."""

    type = "gitlab_group_audit_api"
    groups: tuple[str, ...] = option("Ids or paths of the groups.")
    path = "/api/v4/groups/{groups}/audit_events"


class Duo(HttpConnection):
    """The Duo Admin API."""

    type = "duo"
    api_host: str | None = option("Host of the API, such as `api-12345678.duosecurity.com`.", default=None)
    integration_key: str | None = option("Integration key of the Admin API application.", default=None)
    secret_key: Secret | None = option("Secret key of the application.", default=None)
    base_url = "https://{api_host}"
    auth = Hmac(
        secret=Secret("{secret_key}"),
        key_id="{integration_key}",
        algorithm="sha1",
        message="{date}\n{method}\n{host}\n{path}\n{query}",
        header="Authorization",
        basic=True,
        date_header="Date",
    )
    rate_limit = RateLimit(requests=1, per="1m", parallel=1)


class DuoAuthApi(HttpSource):
    """Requests the authentication log of Duo."""

    type = "duo_auth_api"
    tables = ("duo_auth_log",)
    connection: Duo = option("How to log in to Duo.")
    path = "/admin/v2/logs/authentication"
    params = {"mintime": "{from}", "maxtime": "{to}", "limit": "1000"}
    window = TimeRange(format="epoch_ms", max_age="180d", delay="2m")
    records = "response.authlogs"
    key = "txid"
    time = "isotimestamp"
    pagination = Cursor(path="response.metadata.next_offset", param="next_offset")


class Cloudflare(HttpConnection):
    """Cloudflare."""

    type = "cloudflare"
    token: Secret | None = option("API token.", default=None)
    base_url = "https://api.cloudflare.com"
    auth = Bearer(token=Secret("{token}"))


class CloudflareAuditApi(HttpSource):
    """Requests the audit logs of accounts of Cloudflare."""

    type = "cloudflare_audit_api"
    tables = ("cloudflare_audit_log",)
    connection: Cloudflare = option("How to log in to Cloudflare.")
    account_ids: tuple[str, ...] = option("Ids of the accounts.")
    path = "/client/v4/accounts/{account_ids}/audit_logs"
    params = {"since": "{from}", "before": "{to}", "per_page": "100"}
    window = TimeRange()
    records = "result"
    key = "id"
    time = "when"
    pagination = Numbered(param="page")


class Auth0(HttpConnection):
    """An Auth0 tenant."""

    type = "auth0"
    domain: str | None = option("Domain of the tenant, such as `acme.eu.auth0.com`.", default=None)
    client_id: str | None = option("Id of a machine-to-machine application.", default=None)
    client_secret: Secret | None = option("Secret of the application.", default=None)
    base_url = "https://{domain}"
    auth = OAuth2(
        token_url="https://{domain}/oauth/token",  # noqa: S106 - an address
        client_id="{client_id}",
        client_secret=Secret("{client_secret}"),
        params={"audience": "https://{domain}/api/v2/"},
    )
    rate_limit = RateLimit(remaining="X-RateLimit-Remaining", reset="X-RateLimit-Reset")


class Auth0LogsApi(HttpSource):
    """Requests the tenant log of Auth0, an hour at a time: a search finds 1,000 events at most."""

    type = "auth0_logs_api"
    needs = "read:logs"
    tables = ("auth0_log",)
    connection: Auth0 = option("How to log in to Auth0.")
    path = "/api/v2/logs"
    params = {"q": "date:[{from} TO {to}]", "sort": "date:1", "per_page": "100"}
    window = TimeRange(format="rfc3339_ms", step="1h", max_age="30d")
    key = "log_id"
    time = "date"
    pagination = Numbered(param="page", start=0, size=100)
    stop_at = "short"
    max_records = 1000


class Pipes(HttpConnection):
    """Turbot Pipes."""

    type = "pipes"
    token: Secret | None = option("API token.", default=None)
    base_url = "https://pipes.turbot.com"
    auth = Bearer(token=Secret("{token}"))


class PipesAuditLogApi(HttpSource):
    """Requests the audit log of organizations on Turbot Pipes, the newest events first."""

    type = "pipes_audit_log_api"
    tables = ("pipes_audit_log",)
    connection: Pipes = option("How to log in to Turbot Pipes.")
    organizations: tuple[str, ...] = option("Handles of the organizations.")
    path = "/api/v0/org/{organizations}/audit_log"
    params = {"limit": "100"}
    records = "items"
    key = "id"
    time = "created_at"
    pagination = Cursor(path="next_token", param="next_token")
    stop_at = "window"
