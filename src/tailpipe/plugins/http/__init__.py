"""The plugin `http`: any HTTP API as a source, described in config, and presets for well-known services."""

from tailpipe.plugin import Late, Plugin

_HERE = "tailpipe.plugins.http"
_PRESETS = f"{_HERE}.presets"

plugin = Plugin(
    name="http",
    description="Events of HTTP APIs, described in config.",
    sources=[
        Late("http", f"{_HERE}.source:HttpSource"),
        Late("auth0_logs_api", f"{_PRESETS}.others:Auth0LogsApi"),
        Late("azure_activity_log_api", f"{_PRESETS}.microsoft:AzureActivityLogApi"),
        Late("cloudflare_audit_api", f"{_PRESETS}.others:CloudflareAuditApi"),
        Late("duo_auth_api", f"{_PRESETS}.others:DuoAuthApi"),
        Late("entra_audit_api", f"{_PRESETS}.microsoft:EntraAuditApi"),
        Late("entra_signin_api", f"{_PRESETS}.microsoft:EntraSignInApi"),
        Late("gcp_logging_api", f"{_PRESETS}.google:GcpLoggingApi"),
        Late("github_audit_log_api", f"{_PRESETS}.github:GitHubAuditLogApi"),
        Late("github_enterprise_audit_log_api", f"{_PRESETS}.github:GitHubEnterpriseAuditLogApi"),
        Late("gitlab_audit_api", f"{_PRESETS}.others:GitLabAuditApi"),
        Late("gitlab_group_audit_api", f"{_PRESETS}.others:GitLabGroupAuditApi"),
        Late("google_workspace_reports_api", f"{_PRESETS}.google:GoogleWorkspaceReportsApi"),
        Late("m365_management_api", f"{_PRESETS}.microsoft:M365ManagementApi"),
        Late("okta_system_log_api", f"{_PRESETS}.okta:OktaSystemLogApi"),
        Late("onepassword_events_api", f"{_PRESETS}.others:OnePasswordEventsApi"),
        Late("pipes_audit_log_api", f"{_PRESETS}.others:PipesAuditLogApi"),
        Late("slack_audit_log_api", f"{_PRESETS}.others:SlackAuditLogApi"),
    ],
    connections=[
        Late("http", f"{_HERE}.connection:HttpConnection"),
        Late("auth0", f"{_PRESETS}.others:Auth0"),
        Late("azure_management", f"{_PRESETS}.microsoft:AzureManagement"),
        Late("cloudflare", f"{_PRESETS}.others:Cloudflare"),
        Late("duo", f"{_PRESETS}.others:Duo"),
        Late("entra", f"{_PRESETS}.microsoft:Entra"),
        Late("gcp_logging", f"{_PRESETS}.google:GcpLogging"),
        Late("github", f"{_PRESETS}.github:GitHub"),
        Late("gitlab", f"{_PRESETS}.others:GitLab"),
        Late("google_workspace", f"{_PRESETS}.google:GoogleWorkspace"),
        Late("m365", f"{_PRESETS}.microsoft:M365"),
        Late("okta", f"{_PRESETS}.okta:Okta"),
        Late("onepassword", f"{_PRESETS}.others:OnePassword"),
        Late("pipes", f"{_PRESETS}.others:Pipes"),
        Late("slack", f"{_PRESETS}.others:Slack"),
    ],
)
