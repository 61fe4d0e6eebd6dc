"""The plugin `aws`: logs of Amazon Web Services."""

from tailpipe.plugin import Plugin
from tailpipe.plugins.aws.cloudwatch import CloudWatchLogGroup
from tailpipe.plugins.aws.connection import Aws

plugin = Plugin(
    name="aws",
    description="Logs of Amazon Web Services.",
    sources=[CloudWatchLogGroup],
    connections=[Aws],
)
