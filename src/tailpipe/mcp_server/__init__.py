"""The MCP server: assistants ask the questions that people ask, with limits, and inside the jail of queries."""
