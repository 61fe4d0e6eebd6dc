"""From logs to config: recognise a shipped table, or guess format, columns and layout from a sample."""
