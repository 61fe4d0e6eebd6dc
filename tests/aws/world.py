"""A workspace that is collected from a bucket, by the kernel in this process."""

from __future__ import annotations

from pathlib import Path

from tests.aws.server import ACCESS_KEY, SECRET_KEY
from tests.unit.collect.support import World

LAYOUT = "%{WORD:account}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}"
CONFIG = """
connection "aws" "local" {
  access_key          = "ACCESS"
  secret_key          = "SECRET"
  region              = "us-east-1"
  endpoint_url        = "URL"
  s3_force_path_style = true
  max_retries         = RETRIES
}
table "app" {
  format     = format.jsonl.default
  map_fields = []
  column "tp_timestamp" { source = "time" }
  column "message" { type = "varchar" }
}
partition "app" "x" {
  source "aws_s3_bucket" {
    bucket      = "BUCKET"
    connection  = connection.aws.local
    file_layout = `LAYOUT`
  }
}
"""


def s3_world(
    root: Path,
    url: str,
    bucket: str,
    *,
    access_key: str = ACCESS_KEY,
    secret_key: str = SECRET_KEY,
    layout: str = LAYOUT,
    retries: int = 6,
) -> World:
    """A workspace over a bucket, with a source whose keys begin with an account and a date."""
    return World(root, s3_config(url, bucket, access_key, secret_key, layout, retries))


def s3_config(url: str, bucket: str, access_key: str, secret_key: str, layout: str, retries: int) -> str:
    """The config of such a workspace."""
    words = {"URL": url, "BUCKET": bucket, "ACCESS": access_key, "SECRET": secret_key, "LAYOUT": layout}
    text = CONFIG.replace("RETRIES", str(retries))
    for word, value in words.items():
        text = text.replace(f'"{word}"', f'"{value}"').replace(f"`{word}`", f"`{value}`")
    return text
