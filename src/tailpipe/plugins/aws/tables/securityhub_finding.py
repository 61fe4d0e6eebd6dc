"""Security Hub: findings, as EventBridge hands them on."""

from __future__ import annotations

from tailpipe.formats import Json
from tailpipe.plugin import Column, OcsfEvents, Table, pascal_case
from tailpipe.plugin.sql import distinct_texts, is_domain, json_values
from tailpipe.plugins.aws.tables.lines import is_arn

__all__ = ["SecurityhubFinding"]

_COMPLIANCE = (
    "struct(status varchar, related_requirements varchar[], status_reasons json, security_control_id varchar,"
    " associated_standards json, security_control_parameters json)"
)
_NETWORK = (
    'struct(direction varchar, protocol varchar, open_port_range struct("begin" integer, "end" integer),'
    " source_ip_v4 varchar, source_ip_v6 varchar, source_port integer, source_domain varchar, source_mac varchar,"
    " destination_ip_v4 varchar, destination_ip_v6 varchar, destination_port integer, destination_domain varchar)"
)
_PATCHES = (
    "struct(id varchar, failed_count integer, installed_count integer, installed_other_count integer,"
    " installed_pending_reboot integer, installed_rejected_count integer, missing_count integer, operation varchar,"
    " operation_start_time varchar, operation_end_time varchar, reboot_option varchar)"
)
_PROCESS = (
    "struct(name varchar, path varchar, pid integer, parent_pid integer, launched_at varchar, terminated_at varchar)"
)
_REMOTE_IP = (
    "struct(ip_address_v4 varchar, organization struct(asn integer, asn_org varchar, isp varchar, org varchar),"
    " country struct(country_code varchar, country_name varchar), city struct(city_name varchar),"
    " geo_location struct(lat double, lon double))"
)
_PORT = "struct(port integer, port_name varchar)"
_ACTION = (
    "struct(action_type varchar, network_connection_action struct(connection_direction varchar,"
    f" remote_ip_details {_REMOTE_IP}, remote_port_details {_PORT}, local_port_details {_PORT}, protocol varchar,"
    " blocked boolean), aws_api_call_action struct(api varchar, service_name varchar, caller_type varchar,"
    f" remote_ip_details {_REMOTE_IP}, domain_details struct(domain varchar), affected_resources json,"
    " first_seen varchar, last_seen varchar), dns_request_action struct(protocol varchar, domain varchar,"
    " blocked boolean), port_probe_action struct(port_probe_details json, blocked boolean))"
)
_EVENT = (
    'struct(version json, id json, "detail-type" json, source json, account json, "time" json, region json,'
    " detail struct(findings json))"
)
_IPS = ("IpV4Addresses[*]", "IpV6Addresses[*]", "IpAddressV4", "PublicIp", "PrivateIpAddress")


def _event(name: str, kind: str, description: str, key: str = "") -> Column:
    """A column of the event that brought the finding."""
    return Column(name, kind, description, transform=f"json_extract_string(event, '$.\"{key or name}\"')")


class SecurityhubFinding(Table):
    """One row for each finding in an event of Security Hub."""

    name = "aws_securityhub_finding"
    format = Json(records="detail.findings", document="event")
    columns = [
        _event("time", "timestamp", "When the event was sent, in UTC."),
        _event("id", "varchar", "Identity of the event."),
        _event(
            "detail_type", "varchar", "Kind of the event, such as `Security Hub Findings - Imported`.", "detail-type"
        ),
        _event("source", "varchar", "Service that sent the event."),
        _event("account", "varchar", "Account that the event was sent in."),
        _event("region", "varchar", "Region that the event was sent in."),
        _event("version", "varchar", "Version of the layout of the event."),
        *pascal_case(
            Column("finding_id", "varchar", "Identity of the finding; updates of it have the same.", source="Id"),
            Column("finding_region", "varchar", "Region of the finding.", source="Region"),
            Column("aws_account_id", "varchar", "Account of the finding."),
            Column("aws_account_name", "varchar", "Name of the account of the finding."),
            Column("title", "varchar", "The finding in a few words."),
            Column("description", "varchar", "The finding in a sentence."),
            Column("types", "varchar[]", "Kinds of the finding, as namespace, category and classifier."),
            Column(
                "severity",
                "struct(label varchar, normalized integer, original varchar, product double)",
                "How severe it is, from `INFORMATIONAL` to `CRITICAL`.",
            ),
            Column("compliance", _COMPLIANCE, "Which control was checked, and whether it passed."),
            Column("workflow", "struct(status varchar)", "How far the work on it is, such as `NEW` or `RESOLVED`."),
            Column("record_state", "varchar", "`ACTIVE` or `ARCHIVED`."),
            Column("verification_state", "varchar", "Whether somebody holds it for true."),
            Column("resources", "json", "What is concerned."),
            Column(
                "remediation",
                "struct(recommendation struct(text varchar, url varchar))",
                "What to do about it.",
            ),
            Column("created_at", "timestamp", "When the finding was made, in UTC."),
            Column("updated_at", "varchar", "When the finding was last updated."),
            Column("first_observed_at", "varchar", "When the problem was first seen."),
            Column("last_observed_at", "varchar", "When the problem was last seen."),
            Column("processed_at", "varchar", "When Security Hub took the finding."),
            Column("product_arn", "varchar", "ARN of the product that made the finding."),
            Column("product_name", "varchar", "Name of the product that made the finding."),
            Column("company_name", "varchar", "Company of that product."),
            Column("product_fields", "json", "Facts that only that product knows."),
            Column("generator_id", "varchar", "Rule or check that made the finding."),
            Column(
                "generator_details",
                "struct(name varchar, description varchar, labels varchar[])",
                "What that rule or check is.",
            ),
            Column("confidence", "integer", "How certain it is, from 0 to 100."),
            Column("criticality", "integer", "How important the resources are, from 0 to 100."),
            Column("action", _ACTION, "What was done to the resource."),
            Column("network", _NETWORK, "Traffic that it is about."),
            Column("network_path", "json", "Way of that traffic through the network."),
            Column("process", _PROCESS, "Process that it is about."),
            Column("patch_summary", _PATCHES, "State of the patches of the resource."),
            Column("malware", "json", "Malware that it is about."),
            Column("threats", "json", "Threats that it is about."),
            Column("threat_intel_indicators", "json", "Signs of a threat."),
            Column("vulnerabilities", "json", "Vulnerabilities that it is about."),
            Column("related_findings", "json", "Other findings that belong to it."),
            Column(
                "note", "struct(text varchar, updated_at varchar, updated_by varchar)", "What somebody noted of it."
            ),
            Column("source_url", "varchar", "Page about the finding."),
            Column("sample", "boolean", "Whether it is only an example."),
            Column("user_defined_fields", "json", "Facts that you have added."),
            Column("schema_version", "varchar", "Version of the layout of the finding."),
            Column("additional", "json", "Everything in the finding that has no column of its own.", source="*"),
        ),
    ]
    ocsf = [
        OcsfEvents(
            name="detection_finding",
            finding_title="title",
            finding_uid="finding_id",
            rule_name="generator_id",
            resource_name="resources->>'$[0].Id'",
            severity_id="CASE severity.label WHEN 'INFORMATIONAL' THEN 1 WHEN 'LOW' THEN 2"
            " WHEN 'MEDIUM' THEN 3 WHEN 'HIGH' THEN 4 WHEN 'CRITICAL' THEN 5 ELSE 0 END",
            message="description",
            service_name="product_name",
        ),
    ]
    common = {
        "tp_timestamp": "coalesce(json_extract_string(event, '$.time'), UpdatedAt, CreatedAt)",
        "tp_source_ip": "coalesce(Network.SourceIpV4, Network.SourceIpV6)",
        "tp_destination_ip": "coalesce(Network.DestinationIpV4, Network.DestinationIpV6)",
        "tp_ips": distinct_texts(
            "[Network.SourceIpV4, Network.SourceIpV6, Network.DestinationIpV4, Network.DestinationIpV6,"
            " Action.NetworkConnectionAction.RemoteIpDetails.IpAddressV4,"
            " Action.AwsApiCallAction.RemoteIpDetails.IpAddressV4]",
            *(json_values("Resources", key) for key in _IPS),
            json_values("Action.PortProbeAction.PortProbeDetails", "IpAddressV4"),
        ),
        "tp_akas": distinct_texts("[ProductArn]", "json_extract_string(Resources, '$[*].Id')", only=is_arn),
        "tp_domains": distinct_texts(
            "[Network.SourceDomain, Network.DestinationDomain, Action.DnsRequestAction.Domain,"
            " Action.AwsApiCallAction.DomainDetails.Domain]",
            only=is_domain,
        ),
        "tp_usernames": distinct_texts(
            json_values("Resources", "AwsIamAccessKey.PrincipalName"), json_values("Resources", "AwsIamUser.UserName")
        ),
    }
    nested_keys = {"event": _EVENT}
    layouts = {
        "aws_s3_bucket": "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/%{DATA:product}/%{DATA:region}/"
        "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.json(.gz)?",
        "file": "(%{DATA}/)?(%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/[^/]*|[^/]*)",
    }
