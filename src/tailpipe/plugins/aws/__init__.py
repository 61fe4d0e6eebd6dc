"""The plugin `aws`: logs of Amazon Web Services."""

from tailpipe.plugin import Plugin
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.aws.tables.cloudtrail_log import CloudtrailLog

plugin = Plugin(
    name="aws",
    description="Logs of Amazon Web Services.",
    tables=[
        CloudtrailLog,
    ],
    connections=[Aws],
)
