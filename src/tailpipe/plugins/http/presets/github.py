"""GitHub: the audit log of an organization or an enterprise."""

from __future__ import annotations

from tailpipe.plugin import Secret, option
from tailpipe.plugins.http.auth import Bearer
from tailpipe.plugins.http.connection import HttpConnection, RateLimit
from tailpipe.plugins.http.pagination import LinkHeader
from tailpipe.plugins.http.ranges import TimeRange
from tailpipe.plugins.http.source import HttpSource


class GitHub(HttpConnection):
    """GitHub Enterprise Cloud."""

    type = "github"
    token: Secret | None = option("Access token, classic or of an app.", default=None)
    base_url = "https://api.github.com"
    auth = Bearer(token=Secret("{token}"))
    rate_limit = RateLimit(requests=1750, per="1h")


class AuditLogApi(HttpSource):
    """Requests an audit log on GitHub."""

    needs = "read:audit_log"
    tables = ("github_audit_log",)
    connection: GitHub = option("How to log in to GitHub.")
    params = {"phrase": "created:{from}..{to}", "include": "all", "order": "asc", "per_page": "100"}
    headers = {"Accept": "application/vnd.github+json"}
    window = TimeRange(max_age="180d")
    key = "_document_id"
    time = "@timestamp"
    pagination = LinkHeader()


class GitHubAuditLogApi(AuditLogApi):
    """Requests the audit log of organizations on GitHub."""

    type = "github_audit_log_api"
    organizations: tuple[str, ...] = option("Names of the organizations.")
    path = "/orgs/{organizations}/audit-log"


class GitHubEnterpriseAuditLogApi(AuditLogApi):
    """Requests the audit log of an enterprise on GitHub."""

    type = "github_enterprise_audit_log_api"
    enterprise: str = option("Name of the enterprise in addresses.")
    path = "/enterprises/{enterprise}/audit-log"
