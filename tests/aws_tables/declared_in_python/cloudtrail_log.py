"""CloudTrail: calls of the AWS API, console logins, and what AWS services do on their own."""

from __future__ import annotations

from tailpipe.formats import Json
from tailpipe.plugin import Column, Table, camel_case
from tailpipe.plugin.sql import address_or_null, distinct_texts, is_domain, is_email, texts

__all__ = ["CloudtrailLog"]

_IDENTITY = (
    "struct(access_key_id varchar, account_id varchar, arn varchar, identity_provider varchar, invoked_by varchar,"
    " principal_id varchar, session_context struct(attributes struct(creation_date timestamp,"
    " mfa_authenticated varchar), ec2_role_delivery varchar, session_issuer struct(account_id varchar, arn varchar,"
    " principal_id varchar, type varchar, user_name varchar), web_id_federation_data struct(attributes json,"
    " federated_provider varchar)), type varchar, user_name varchar)"
)
_TLS = "struct(cipher_suite varchar, client_provided_host_header varchar, tls_version varchar)"
_ISSUER = "userIdentity.sessionContext.sessionIssuer"
_SESSION = "coalesce(userIdentity.userName, split_part(split_part(userIdentity.arn, ':', -1), '/', -1))"
"""Who acts: a user by its name, a role by the name of its session, which is the end of its ARN; or `root`."""
_ROLE = (
    f"CASE WHEN ends_with(coalesce(userIdentity.userName, userIdentity.arn), {_ISSUER}.userName)"
    f" THEN nullif({_ISSUER}.userName, {_SESSION}) ELSE {_ISSUER}.userName END"
)
"""The role behind a session, unless they have the same name; looking at the end first costs less."""
_RESOURCES = "json_extract_string(resources, '$[*].ARN')"
_ARNS = texts("userIdentity.arn", f"{_ISSUER}.arn")


class CloudtrailLog(Table):
    """One row for each event of CloudTrail: a call of the AWS API, a login, or an act of a service."""

    name = "aws_cloudtrail_log"
    format = Json(records="Records")
    columns = camel_case(
        Column("event_time", "timestamp", "When the request was completed, in UTC."),
        Column("event_id", "varchar", "Identity of the event, given by CloudTrail.", source="eventID"),
        Column("event_name", "varchar", "What was done, such as `RunInstances`."),
        Column("event_source", "varchar", "Service that was asked, such as `ec2.amazonaws.com`."),
        Column("event_type", "varchar", "Kind of event, such as `AwsApiCall` or `AwsConsoleSignIn`."),
        Column("event_category", "varchar", "`Management`, `Data`, `NetworkActivity` or `Insight`."),
        Column("event_version", "varchar", "Version of the layout of the event."),
        Column("aws_region", "varchar", "Region in which the service was asked."),
        Column("recipient_account_id", "varchar", "Account that was given the event."),
        Column("user_identity", _IDENTITY, "Who asked, and by which session."),
        Column(
            "source_ip_address", "varchar", "Where it came from: an address or a service.", source="sourceIPAddress"
        ),
        Column("user_agent", "varchar", "Program that asked, as it calls itself."),
        Column("error_code", "varchar", "Code of the error, if the request failed."),
        Column("error_message", "varchar", "What AWS said of the error."),
        Column("request_parameters", "json", "What was asked for."),
        Column("response_elements", "json", "What was answered, if something was changed."),
        Column("additional_event_data", "json", "Facts that belong to neither request nor answer."),
        Column("request_id", "varchar", "Identity of the request, given by the service.", source="requestID"),
        Column("resources", "json", "What the event is about: a list with ARN, account and type."),
        Column("read_only", "boolean", "Whether nothing could be changed by it."),
        Column("management_event", "boolean", "Whether it is a management event."),
        Column("api_version", "varchar", "Version of the API that was called."),
        Column("service_event_details", "json", "Facts of an event that a service has caused."),
        Column(
            "shared_event_id", "varchar", "The same in all accounts that were given this event.", source="sharedEventID"
        ),
        Column("vpc_endpoint_id", "varchar", "VPC endpoint through which the request came."),
        Column("session_credential_from_console", "varchar", "`true` if the session began in the console."),
        Column("edge_device_details", "json", "Edge device that was asked."),
        Column("tls_details", _TLS, "How the connection was encrypted, and which host was asked."),
        Column("additional", "json", "Everything in the event that has no column of its own.", source="*"),
    )
    common = {
        "tp_timestamp": "eventTime",
        "tp_source_ip": address_or_null("sourceIPAddress"),
        "tp_ips": "[sourceIPAddress]",
        "tp_domains": texts(
            "sourceIPAddress",
            "nullif(userIdentity.invokedBy, sourceIPAddress)",
            "tlsDetails.clientProvidedHostHeader",
            only=is_domain,
        ),
        "tp_usernames": texts(
            _SESSION,
            _ROLE,
            "userIdentity.accessKeyId",
            "userIdentity.principalId",
        ),
        "tp_emails": texts(_SESSION, only=is_email),
        "tp_akas": f"CASE WHEN resources IS NULL THEN {_ARNS} ELSE {distinct_texts(_ARNS, _RESOURCES)} END",
    }
    layouts = {
        "aws_s3_bucket": "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/CloudTrail/%{DATA:region}/"
        "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.json.gz",
        # A file as CloudTrail names it is dated by its name, wherever it lies; digests are left out.
        "file": "(%{DATA}/)?(%{NUMBER:account_id}_CloudTrail_%{DATA:region}_"
        "%{YEAR:year}%{MONTHNUM:month}%{MONTHDAY:day}T[^/]*|[^/0-9][^/]*|[^/_]*|[^/_]*_[^/C][^/]*)",
    }
