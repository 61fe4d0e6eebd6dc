"""Google: log entries of Cloud Logging, and the activity of Workspace."""

from __future__ import annotations

from tailpipe.plugin import Secret, option
from tailpipe.plugins.http.auth import Google
from tailpipe.plugins.http.connection import HttpConnection, RateLimit
from tailpipe.plugins.http.pagination import Cursor
from tailpipe.plugins.http.ranges import TimeRange
from tailpipe.plugins.http.source import HttpSource


class GcpLogging(HttpConnection):
    """Cloud Logging of Google Cloud."""

    type = "gcp_logging"
    credentials: Secret | None = option("Key of a service account, as JSON text.", default=None)
    base_url = "https://logging.googleapis.com"
    auth = Google(credentials=Secret("{credentials}"), scopes=("https://www.googleapis.com/auth/logging.read",))
    rate_limit = RateLimit(requests=60, per="1m")


class GcpLoggingApi(HttpSource):
    """Requests log entries of Cloud Logging."""

    type = "gcp_logging_api"
    tables = ("gcp_audit_log",)
    needs = "logging.logEntries.list"
    connection: GcpLogging = option("How to log in to Google Cloud.")
    resource_names: tuple[str, ...] = option(
        "Projects, folders, organizations or billing accounts: `projects/my-project`."
    )
    filter: str = option("What else an entry must match, such as `AND severity >= ERROR`.", default="")
    path = "/v2/entries:list"
    method = "POST"
    body = {
        "resourceNames": ("{resource_names}",),
        "filter": 'timestamp >= "{from}" AND timestamp < "{to}" {filter}',
        "orderBy": "timestamp asc",
        "pageSize": 1000,
    }
    window = TimeRange()
    records = "entries"
    key = ("insertId", "logName", "timestamp")
    time = "timestamp"
    pagination = Cursor(path="nextPageToken", body="pageToken")


class GoogleWorkspace(HttpConnection):
    """Google Workspace, as an administrator of the domain."""

    type = "google_workspace"
    credentials: Secret | None = option(
        "Key of a service account with domain-wide delegation, as JSON text.", default=None
    )
    subject: str | None = option("Address of the administrator to act as.", default=None)
    base_url = "https://admin.googleapis.com"
    auth = Google(
        credentials=Secret("{credentials}"),
        scopes=("https://www.googleapis.com/auth/admin.reports.audit.readonly",),
        subject="{subject}",
    )


class GoogleWorkspaceReportsApi(HttpSource):
    """Requests the activity of applications of Google Workspace."""

    type = "google_workspace_reports_api"
    tables = ("google_workspace_activity",)
    connection: GoogleWorkspace = option("How to log in to Google Workspace.")
    applications: tuple[str, ...] = option("Names of applications, such as `login`, `admin` and `drive`.")
    path = "/admin/reports/v1/activity/users/all/applications/{applications}"
    params = {"startTime": "{from}", "endTime": "{to}", "maxResults": "1000"}
    window = TimeRange(max_age="180d")
    records = "items"
    key = ("id.time", "id.uniqueQualifier", "id.applicationName")
    time = "id.time"
    pagination = Cursor(path="nextPageToken", param="pageToken")
    overlap_days = 3
