"""Query: the live files of the catalog as views of DuckDB, and a session that can only read them."""
