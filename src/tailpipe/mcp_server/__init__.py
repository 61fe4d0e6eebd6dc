"""The MCP server: assistants query the same data as people, within limits and inside the jail of queries."""
