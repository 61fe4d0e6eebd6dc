"""The plugin `aws`: logs of Amazon Web Services."""

from tailpipe.plugin import Plugin
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.aws.s3 import S3Bucket

plugin = Plugin(name="aws", description="Logs of Amazon Web Services.", sources=[S3Bucket], connections=[Aws])
