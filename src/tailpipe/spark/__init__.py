"""Spark: the session, the jobs and what a cluster must have. The only room that imports pyspark."""
