"""Okta: the System Log."""

from __future__ import annotations

from tailpipe.plugin import Secret, option
from tailpipe.plugins.http.auth import Header
from tailpipe.plugins.http.connection import HttpConnection, RateLimit
from tailpipe.plugins.http.pagination import LinkHeader
from tailpipe.plugins.http.ranges import TimeRange
from tailpipe.plugins.http.source import HttpSource


class Okta(HttpConnection):
    """An Okta organization."""

    type = "okta"
    domain: str | None = option("Domain of the organization, such as `acme.okta.com`.", default=None)
    token: Secret | None = option("API token of Okta.", default=None)
    base_url = "https://{domain}"
    auth = Header(value=Secret("SSWS {token}"))
    rate_limit = RateLimit(remaining="X-Rate-Limit-Remaining", reset="X-Rate-Limit-Reset")


class OktaSystemLogApi(HttpSource):
    """Requests the System Log of Okta."""

    type = "okta_system_log_api"
    tables = ("okta_system_log",)
    needs = "okta.logs.read"
    connection: Okta = option("How to log in to Okta.")
    path = "/api/v1/logs"
    params = {"since": "{from}", "until": "{to}", "limit": "1000", "sortOrder": "ASCENDING"}
    window = TimeRange(max_age="90d")
    key = "uuid"
    time = "published"
    pagination = LinkHeader()
