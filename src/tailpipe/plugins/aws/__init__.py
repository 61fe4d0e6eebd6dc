"""The plugin `aws`: logs of Amazon Web Services."""

from pathlib import Path

from tailpipe.plugin import Late, Plugin, table_files

_HERE = "tailpipe.plugins.aws"

plugin = Plugin(
    name="aws",
    description="Logs of Amazon Web Services.",
    queries=Path(__file__).parent / "queries",
    detections=Path(__file__).parent / "detections",
    sources=[
        Late("aws_cloudwatch_log_group", f"{_HERE}.cloudwatch:CloudWatchLogGroup"),
        Late("aws_s3_bucket", f"{_HERE}.s3:S3Bucket"),
        Late("aws_sqs_s3", f"{_HERE}.sqs:S3Queue"),
    ],
    tables=table_files(__path__[0]),
    formats=[Late("aws_vpc_flow_log", f"{_HERE}.flow_format:FlowLogFormat")],
    presets=[
        Late("aws_vpc_flow_log.default", f"{_HERE}.flow_format:DEFAULT"),
        Late("aws_vpc_flow_log.transit_gateway", f"{_HERE}.flow_format:TRANSIT_GATEWAY"),
        Late("delimited.aws_api_gateway_csv", f"{_HERE}.api_gateway:CSV"),
        Late("regex.aws_api_gateway_clf", f"{_HERE}.api_gateway:CLF"),
        Late("regex.aws_api_gateway_xml", f"{_HERE}.api_gateway:XML"),
    ],
    connections=[Late("aws", f"{_HERE}.connection:Aws")],
)
