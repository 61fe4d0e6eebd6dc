"""The MCP server with its tools, resources and prompts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from tailpipe import __version__
from tailpipe.errors import TailpipeError
from tailpipe.frozen import frozen
from tailpipe.mcp_server import acting, answers, hits, state, tables, texts
from tailpipe.mcp_server.limits import Limits
from tailpipe.mcp_server.reading import Reading, Work, error_text
from tailpipe.mcp_server.work import Stop, Worker
from tailpipe.workers.pool import Workers

_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True)

Start = Annotated[str | None, Field(description="First time, such as 2024-01-31, 2024-01-31T10:00Z or T-7d.")]
End = Annotated[str | None, Field(description="Last time; a bare date includes that day.")]
Limit = Annotated[int | None, Field(description="Maximum number of rows.")]
Pattern = Annotated[str, Field(description="Name, or a pattern such as aws_*.")]
Partition = Annotated[str, Field(description="Partition such as aws_cloudtrail_log.prod; empty for all.")]


@frozen
class Access:
    """How tools get to the data: by workers, which open the workspace for each call, and within limits."""

    workers: Workers
    limits: Limits
    worker: Worker
    flags: tuple[str, ...] = ()
    """What names the same workspace to a command."""

    async def read(self, work: Work, *arguments: Any, is_log: bool = False, statement: str = "") -> str:
        """The answer of some reading work as JSON, by a worker process."""
        reading = Reading(work, arguments, self.limits, statement, texts.NOTICE if is_log else None)
        try:
            return await self.worker.read(self.workers, reading)
        except TailpipeError as error:
            raise ToolError(error_text(error)) from None

    async def act(self, work: Callable[[Stop], dict[str, Any]]) -> str:
        """The answer of work that changes data and takes the time that it needs."""
        try:
            found = await self.worker.run(work, None)
        except TailpipeError as error:
            raise ToolError(error_text(error)) from None
        return json.dumps({"notice": texts.NOTICE, **found}, ensure_ascii=False, default=str)

    async def page(self, work: Work, *arguments: Any) -> str:
        """The text of a resource."""
        try:
            return await self.worker.read(self.workers, Reading(work, arguments, self.limits))
        except TailpipeError as error:
            raise ResourceError(error_text(error)) from None


def make_server(access: Access, *, may_act: bool = False) -> MCPServer:
    """A server for one workspace; tools that change data are there only if it `may_act`."""
    server: MCPServer = MCPServer(
        "tailpipe", title="tailpipe logs", instructions=texts.INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    _add_tables(server, access)
    _add_answers(server, access)
    _add_state(server, access)
    _add_hits(server, access)
    if may_act:
        _add_acting(server, access)
    _add_pages(server, access)
    return server


def _add_tables(server: MCPServer, access: Access) -> None:
    @server.tool(annotations=_READS, structured_output=False)
    async def list_tables(
        pattern: Pattern = "*", include_empty: Annotated[bool, Field(description="Also tables without data.")] = False
    ) -> str:
        """List the tables with their rows, times and partitions."""
        return await access.read(tables.list_tables, pattern, include_empty)

    @server.tool(annotations=_READS, structured_output=False)
    async def describe_table(
        table: Annotated[str, Field(description="Name of the table.")],
        include_values: Annotated[bool, Field(description="Also the most frequent values of the newest day.")] = True,
    ) -> str:
        """Describe a table: columns, types, meanings, two rows, and frequent values of the newest day."""
        return await access.read(tables.describe_table, table, include_values, is_log=True)


def _add_answers(server: MCPServer, access: Access) -> None:
    @server.tool(annotations=_READS, structured_output=False)
    async def query(
        sql: Annotated[str, Field(description="One DuckDB SELECT statement over the tables.")],
        params: Annotated[dict[str, Any] | None, Field(description="Values of $name parameters, by name.")] = None,
        limit: Limit = None,
        start: Start = None,
        end: End = None,
    ) -> str:
        """Run one DuckDB SQL query over the logs. Answers are limited; "truncated" says what is missing."""
        return await access.read(answers.query, sql, params, limit, start, end, is_log=True, statement=sql)

    @server.tool(annotations=_READS, structured_output=False)
    async def search(
        text: Annotated[str, Field(description="Text, IP address, network such as 10.0.0.0/8, or user.")],
        tables: Annotated[list[str] | None, Field(description="Names or patterns of tables; all if omitted.")] = None,
        start: Start = None,
        end: End = None,
        limit: Limit = None,
    ) -> str:
        """Search all tables for a text, an address or a user. Without start, the last 30 days are searched."""
        return await access.read(answers.search, text, tables or (), start, end, limit, is_log=True)


def _add_state(server: MCPServer, access: Access) -> None:
    @server.tool(annotations=_READS, structured_output=False)
    async def coverage(partition: Partition = "") -> str:
        """Show for each partition which days are collected, missing or not requested, and how the last run ended."""
        return await access.read(state.coverage, partition)

    @server.tool(annotations=_READS, structured_output=False)
    async def rejected(partition: Partition = "", limit: Limit = None) -> str:
        """Show rows that could not be parsed, with file, line, reason and text."""
        return await access.read(state.rejected, partition, limit, is_log=True)


def _add_hits(server: MCPServer, access: Access) -> None:
    @server.tool(annotations=_READS, structured_output=False)
    async def detections(
        pattern: Pattern = "*",
        include_disabled: Annotated[bool, Field(description="Also detections of plugins that do not run.")] = False,
    ) -> str:
        """List the detections that run over new rows."""
        return await access.read(hits.detections, pattern, include_disabled)

    @server.tool(name="hits", annotations=_READS, structured_output=False)
    async def hits_(
        detection: Annotated[str, Field(description="Name or pattern of a detection; empty for all.")] = "",
        min_severity: Annotated[str, Field(description="info, low, medium, high or critical.")] = "info",
        start: Start = None,
        end: End = None,
        limit: Limit = None,
    ) -> str:
        """Show hits of detections, newest first."""
        return await access.read(hits.hits, detection, min_severity, start, end, limit, is_log=True)

    @server.tool(annotations=_READS, structured_output=False)
    async def explain_hit(hit: Annotated[str, Field(description="Id of the hit, from hits.")]) -> str:
        """Explain a hit: its rule, the row that was found, and how often the rule hits."""
        return await access.read(hits.explain_hit, hit, is_log=True)


def _add_acting(server: MCPServer, access: Access) -> None:
    @server.tool(annotations=_ACTS, structured_output=False)
    async def collect(
        partitions: Annotated[list[str] | None, Field(description="Partitions or patterns; all if omitted.")] = None,
        start: Start = None,
        end: End = None,
    ) -> str:
        """Collect new logs, which can take minutes. Without start, it continues where the last run ended."""
        return await access.act(lambda stop: acting.collect(stop, access.flags, partitions or (), start, end))

    @server.tool(annotations=_ACTS, structured_output=False)
    async def detect(
        names: Annotated[list[str] | None, Field(description="Detections or patterns; all if omitted.")] = None,
    ) -> str:
        """Run detections over rows that are new since the last run, store hits, and send alerts."""
        return await access.act(lambda stop: acting.detect(stop, access.limits, access.flags, names or ()))


def _add_pages(server: MCPServer, access: Access) -> None:
    @server.resource("tailpipe://tables", title="Tables", mime_type="text/markdown")
    async def all_tables() -> str:
        """All tables that can be queried."""
        return await access.page(tables.tables_page)

    @server.resource("tailpipe://tables/{table}", title="A table", mime_type="text/markdown")
    async def table_page(table: str) -> str:
        """What a table is about, and its columns."""
        return await access.page(tables.table_page, table)

    @server.resource("tailpipe://config", title="Config", mime_type="text/plain")
    async def config() -> str:
        """The config of the workspace, with secrets masked."""
        return await access.page(state.config_page)

    server.prompt("investigate_user", title="Investigate a user")(texts.user_prompt)
    server.prompt("investigate_address", title="Investigate an address")(texts.address_prompt)
    server.prompt("investigate_hit", title="Investigate a hit")(texts.hit_prompt)
