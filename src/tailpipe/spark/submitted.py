"""A Spark that has started this process itself: `spark-submit` with tailpipe as the application.

Its master, and whatever it was started with, hold then: the config says what a Spark of our own would be started with.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from tailpipe.config.settings import SparkSettings
from tailpipe.errors import SparkError

_PORT = "PYSPARK_GATEWAY_PORT"


def as_submitted(settings: SparkSettings, env: Mapping[str, str] | None = None) -> SparkSettings:
    """The settings, with the master and the properties of the Spark that has started this process, if one has.

    Properties of the config's `conf` win over those of the command line.
    """
    if _PORT not in (os.environ if env is None else env):
        return settings
    try:
        from pyspark import SparkConf, SparkContext
    except ImportError as error:
        raise SparkError(
            f"Spark has started this process, but its Python package cannot be imported: {error}",
            hint="set spark.pyspark.python to a Python that has tailpipe",
        ) from error
    SparkContext._ensure_initialized()
    given = dict(SparkConf().getAll())
    master = given.pop("spark.master", settings.master)
    return replace(settings, master=master, conf={**given, **settings.conf}, archive=False)
