"""Traffic of network interfaces and transit gateways."""

from __future__ import annotations

from tailpipe.plugin import Column, OcsfEvents, Table
from tailpipe.plugin.sql import texts
from tailpipe.plugins.aws.flow_format import FlowLogFormat
from tailpipe.plugins.aws.tables.lines import other_names

__all__ = ["VpcFlowLog"]

_FOLDERS = (
    "(aws-account-id=)?%{NUMBER:account_id}/(aws-service=)?vpcflowlogs/(aws-region=)?%{DATA:region}/"
    "(year=)?%{YEAR:year}/(month=)?%{MONTHNUM:month}/(day=)?%{MONTHDAY:day}/((hour=)?%{HOUR:hour}/)?"
)
_FILE = "%{DATA}.(log.gz|log.parquet|parquet)"
_DATED = (
    "(aws-account-id=)?%{NUMBER:account_id}[/_](aws-service=)?vpcflowlogs[/_](aws-region=)?(?P<region>[^/_]*)"
    "(/(year=)?|_[^/]*_)%{YEAR:year}/?(month=)?%{MONTHNUM:month}/?(day=)?%{MONTHDAY:day}"
    f"(/((hour=)?%{{HOUR:hour}}/)?{_FILE}|T[0-9]{{4}}Z_[^/]*)"
)
"""Dated by its folders, or by its name as AWS gives it: `111122223333_vpcflowlogs_us-east-1_fl-1_20240301T1000Z_…`."""


class VpcFlowLog(Table):
    """One row for each flow record: traffic between two addresses at a network interface or transit gateway."""

    name = "aws_vpc_flow_log"
    format = FlowLogFormat()
    columns = [
        Column("version", "integer", "Version of the record: the highest of its fields."),
        Column("account_id", "varchar", "Account of the network interface."),
        Column("interface_id", "varchar", "Network interface that the traffic went through."),
        Column("src_addr", "varchar", "Address that the traffic came from.", source="srcaddr"),
        Column("dst_addr", "varchar", "Address that the traffic went to.", source="dstaddr"),
        Column("src_port", "integer", "Port that the traffic came from.", source="srcport"),
        Column("dst_port", "integer", "Port that the traffic went to.", source="dstport"),
        Column("protocol", "integer", "Number of the protocol: 6 is TCP, 17 is UDP, 1 is ICMP."),
        Column("packets", "bigint", "How many packets."),
        Column("bytes", "bigint", "How many bytes."),
        Column("start_time", "timestamp", "When the first packet came, in UTC.", source="start"),
        Column("end_time", "timestamp", "When the last packet came, in UTC.", source="end"),
        Column("action", "varchar", "`ACCEPT` or `REJECT`."),
        Column("log_status", "varchar", "`OK`, `NODATA` if there was no traffic, `SKIPDATA` if records were skipped."),
        Column("vpc_id", "varchar", "VPC of the network interface."),
        Column("subnet_id", "varchar", "Subnet of the network interface."),
        Column("instance_id", "varchar", "Instance of the network interface."),
        Column("tcp_flags", "integer", "TCP flags, added up: 1 FIN, 2 SYN, 4 RST, 8 PSH, 16 ACK, 32 URG."),
        Column("type", "varchar", "`IPv4`, `IPv6` or `EFA`."),
        Column("pkt_src_addr", "varchar", "Address in the packet, behind a NAT gateway for one.", source="pkt_srcaddr"),
        Column("pkt_dst_addr", "varchar", "Address in the packet that it was meant for.", source="pkt_dstaddr"),
        Column("region", "varchar", "Region of the network interface."),
        Column("az_id", "varchar", "Id of the availability zone."),
        Column("sublocation_type", "varchar", "`wavelength`, `outpost` or `localzone`."),
        Column("sublocation_id", "varchar", "Id of the sublocation."),
        Column("pkt_src_aws_service", "varchar", "AWS service whose address `pkt_src_addr` is."),
        Column("pkt_dst_aws_service", "varchar", "AWS service whose address `pkt_dst_addr` is."),
        Column("flow_direction", "varchar", "`ingress` or `egress`, seen from the interface."),
        Column("traffic_path", "integer", "Number of the path that egress traffic took: 8 is an internet gateway."),
        Column("ecs_cluster_arn", "varchar", "ARN of the ECS cluster."),
        Column("ecs_cluster_name", "varchar", "Name of the ECS cluster."),
        Column("ecs_container_instance_arn", "varchar", "ARN of the ECS container instance."),
        Column("ecs_container_instance_id", "varchar", "Id of the ECS container instance."),
        Column("ecs_container_id", "varchar", "Id of the first container of the task."),
        Column("ecs_second_container_id", "varchar", "Id of the second container of the task."),
        Column("ecs_service_name", "varchar", "Name of the ECS service."),
        Column("ecs_task_arn", "varchar", "ARN of the ECS task."),
        Column("ecs_task_definition_arn", "varchar", "ARN of the definition of the ECS task."),
        Column("ecs_task_id", "varchar", "Id of the ECS task."),
        Column("reject_reason", "varchar", "Why traffic was rejected, such as `BPA`."),
        Column("resource_type", "varchar", "`TransitGateway`, in flow logs of transit gateways."),
        Column("tgw_id", "varchar", "Transit gateway that the traffic went through."),
        Column("tgw_attachment_id", "varchar", "Attachment of the transit gateway."),
        Column("tgw_src_vpc_account_id", "varchar", "Account of the VPC that the traffic came from."),
        Column("tgw_dst_vpc_account_id", "varchar", "Account of the VPC that the traffic went to."),
        Column("tgw_src_vpc_id", "varchar", "VPC that the traffic came from."),
        Column("tgw_dst_vpc_id", "varchar", "VPC that the traffic went to."),
        Column("tgw_src_subnet_id", "varchar", "Subnet that the traffic came from."),
        Column("tgw_dst_subnet_id", "varchar", "Subnet that the traffic went to."),
        Column("tgw_src_eni", "varchar", "Network interface of the transit gateway in the source VPC."),
        Column("tgw_dst_eni", "varchar", "Network interface of the transit gateway in the destination VPC."),
        Column("tgw_src_az_id", "varchar", "Availability zone that the traffic came from."),
        Column("tgw_dst_az_id", "varchar", "Availability zone that the traffic went to."),
        Column("tgw_pair_attachment_id", "varchar", "Attachment on the other side, by the direction of the flow."),
        Column("packets_lost_no_route", "bigint", "Packets lost because there was no route."),
        Column("packets_lost_blackhole", "bigint", "Packets lost in a blackhole route."),
        Column("packets_lost_mtu_exceeded", "bigint", "Packets lost because they were larger than the MTU."),
        Column("packets_lost_ttl_expired", "bigint", "Packets lost because their time to live expired."),
        Column("additional", "json", "Fields of the log that have no column of their own.", source="*"),
    ]
    ocsf = [
        OcsfEvents(
            name="network_activity",
            src_endpoint_port="src_port",
            dst_endpoint_port="dst_port",
            protocol_name="CASE protocol WHEN 6 THEN 'tcp' WHEN 17 THEN 'udp'"
            " WHEN 1 THEN 'icmp' WHEN 58 THEN 'icmp6' ELSE protocol::VARCHAR END",
            bytes="bytes",
            packets="packets",
            disposition="lower(action)",
            status_id="CASE action WHEN 'ACCEPT' THEN 1 WHEN 'REJECT' THEN 2 ELSE 0 END",
        ),
    ]
    common = {
        "tp_timestamp": 'coalesce(start::VARCHAR, "end"::VARCHAR)',
        "tp_source_ip": "srcaddr",
        "tp_destination_ip": "dstaddr",
        "tp_ips": "[srcaddr, nullif(pkt_srcaddr, srcaddr), dstaddr, nullif(pkt_dstaddr, dstaddr)]",
        "tp_akas": texts("ecs_cluster_arn", "ecs_container_instance_arn", "ecs_task_arn", "ecs_task_definition_arn"),
    }
    layouts = {
        "aws_s3_bucket": f"AWSLogs/(%{{DATA:org_id}}/)?{_FOLDERS}{_FILE}",
        "file": f"(%{{DATA}}/)?{_DATED}|{other_names()}",
    }
