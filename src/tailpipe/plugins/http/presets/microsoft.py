"""Microsoft: Entra sign-ins and audits, the Azure activity log, and the activity of Microsoft 365."""

from __future__ import annotations

from tailpipe.plugin import Secret, option
from tailpipe.plugins.http.auth import OAuth2
from tailpipe.plugins.http.connection import HttpConnection
from tailpipe.plugins.http.pagination import NextUrl
from tailpipe.plugins.http.ranges import TimeRange
from tailpipe.plugins.http.source import HttpSource


def _login(scope: str) -> OAuth2:
    """Client credentials of an app registration."""
    return OAuth2(
        token_url="https://login.microsoftonline.com/{tenant_id}/oauth2/v2.0/token",  # noqa: S106 - an address
        client_id="{client_id}",
        client_secret=Secret("{client_secret}"),
        scope=scope,
    )


class AppRegistration(HttpConnection):
    """An app of a tenant of Entra that logs in by its secret."""

    tenant_id: str | None = option("Id of the tenant.", default=None)
    client_id: str | None = option("Id of the app registration.", default=None)
    client_secret: Secret | None = option("Secret of the app registration.", default=None)


class Entra(AppRegistration):
    """Microsoft Graph, for a tenant of Entra."""

    type = "entra"
    base_url = "https://graph.microsoft.com"
    auth = _login("https://graph.microsoft.com/.default")


class GraphLogApi(HttpSource):
    """Requests a log of a tenant of Entra."""

    needs = "AuditLog.Read.All, Directory.Read.All"
    connection: Entra = option("How to log in to Microsoft Graph.")
    window = TimeRange(max_age="30d")
    records = "value"
    key = "id"
    pagination = NextUrl(path="@odata.nextLink")


class EntraSignInApi(GraphLogApi):
    """Requests the sign-ins of a tenant of Entra."""

    type = "entra_signin_api"
    tables = ("azure_signin_log",)
    path = "/v1.0/auditLogs/signIns"
    params = {"$filter": "createdDateTime ge {from} and createdDateTime le {to}"}
    time = "createdDateTime"


class EntraAuditApi(GraphLogApi):
    """Requests the directory audits of a tenant of Entra."""

    type = "entra_audit_api"
    tables = ("azure_audit_log",)
    path = "/v1.0/auditLogs/directoryAudits"
    params = {"$filter": "activityDateTime ge {from} and activityDateTime le {to}"}
    time = "activityDateTime"


class AzureManagement(AppRegistration):
    """Azure Resource Manager, for a tenant of Entra."""

    type = "azure_management"
    base_url = "https://management.azure.com"
    auth = _login("https://management.azure.com/.default")


class AzureActivityLogApi(HttpSource):
    """Requests the activity log of Azure subscriptions."""

    type = "azure_activity_log_api"
    tables = ("azure_activity_log",)
    connection: AzureManagement = option("How to log in to Azure.")
    subscription_ids: tuple[str, ...] = option("Ids of the subscriptions.")
    path = "/subscriptions/{subscription_ids}/providers/Microsoft.Insights/eventtypes/management/values"
    params = {"api-version": "2015-04-01", "$filter": "eventTimestamp ge '{from}' and eventTimestamp le '{to}'"}
    window = TimeRange(max_age="90d")
    records = "value"
    key = "eventDataId"
    time = "eventTimestamp"
    pagination = NextUrl(path="nextLink")


class M365(AppRegistration):
    """The Office 365 Management Activity API, for a tenant of Entra."""

    type = "m365"
    base_url = "https://manage.office.com/api/v1.0/{tenant_id}"
    auth = _login("https://manage.office.com/.default")


class M365ManagementApi(HttpSource):
    """Requests the activity of Microsoft 365: lists blobs of content by their arrival, and reads each."""

    type = "m365_management_api"
    tables = ("m365_audit_log",)
    needs = "ActivityFeed.Read"
    connection: M365 = option("How to log in to Microsoft 365.")
    content_types: tuple[str, ...] = option(
        "Types of content; each needs a subscription.",
        default=("Audit.AzureActiveDirectory", "Audit.Exchange", "Audit.SharePoint", "Audit.General", "DLP.All"),
    )
    path = "/activity/feed/subscriptions/content"
    params = {"contentType": "{content_types}", "startTime": "{from}", "endTime": "{to}"}
    window = TimeRange(format="%Y-%m-%dT%H:%M:%S", max_age="7d")
    follow = "contentUri"
    key = "Id"
    time = "CreationTime"
    pagination = NextUrl(header="NextPageUri")
