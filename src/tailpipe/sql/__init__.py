"""SQL text and DuckDB: quoting, connections, casts, addresses, and checks of the SQL in the config."""
