// @ts-check
// The shapes of the server's answers, for the type checker alone.

/**
 * @typedef {string | number | boolean | null | object} Value  a value of a row, as JSON
 * @typedef {{name: string, type: string}} Column
 * @typedef {Column & {description?: string, facet?: boolean}} TableColumn
 * @typedef {{
 *   name: string, description?: string, rows: number | null, first_event: string | null, last_event: string | null,
 *   columns: TableColumn[], default_columns: string[],
 * }} Table
 * @typedef {{rows: number, bytes: number, seconds: number, statements: number}} Limits
 * @typedef {{
 *   version: string, workspace: string, now: string, limits: Limits, read_only: boolean, tables: Table[],
 *   schemas: {name: string, tables: string[]}[],
 * }} Meta
 * @typedef {{table: string, q: string, from: string | null, to: string | null}} Search
 * @typedef {{read: number, total: number}} Files
 * @typedef {{sql: string, ms: number, files?: Files}} Cost
 * @typedef {{t: string, n: number, by: Record<string, number> | null}} Bucket
 * @typedef {Cost & {
 *   from: string, to: string, step_seconds: number, buckets: Bucket[], colors: string[],
 *   missing: {from: string, to: string}[], source: "catalog" | "files", total: number,
 * }} Histogram
 * @typedef {{name: string, values: {value: Value, count: number}[], nulls: number, other: number}} Facet
 * @typedef {{table: string, partition?: string, tp_id: string, tp_date: string}} RowId
 * @typedef {Cost & {
 *   columns: Column[], rows: Value[][], ids: RowId[], next: string | null, from: string, to: string, complete: boolean,
 * }} RowPage
 * @typedef {{kind: string, value: string, q: string}} Entity
 * @typedef {{name: string, type: string, default: Value, description?: string}} Param
 * @typedef {{name: string, title?: string, description?: string, sql: string, params: Param[]}} SavedQuery
 * @typedef {"line" | "bar" | "number" | "table"} ChartKind
 * @typedef {{name?: string, title: string, kind: ChartKind, query: string, params: Record<string, Value>, width?: number}} Panel
 * @typedef {{name: string, title?: string, panels: Panel[]}} Dashboard
 * @typedef {{
 *   name: string, table: string, rows: number | null, bytes: number | null, first_event: string | null,
 *   last_event: string | null, last_run: string | null, outcome: string | null, lag_seconds: number | null, gap_days: number | null,
 *   rejected_rows?: number | null, is_in_config?: boolean,
 * }} Partition
 * @typedef {"covered" | "missing" | "dropped" | "not_requested"} DayState
 * @typedef {{day: string, state: DayState, rows: number | null}} Day
 * @typedef {{
 *   partition: string, file: string, line: number, reason: string, text: Value,
 * }} RejectedRow
 * @typedef {{name: string, title?: string, severity: string, table: string, mitre?: string[], enabled: boolean}} Detection
 * @typedef {{
 *   id: string, detection: string, title: string, severity: string, time: string, table: string, partition: string | null,
 *   tp_id: string | null, tp_date: string | null, count: number | null, row: Value,
 *   acknowledged: {at: string, by: string, note: string | null} | null,
 * }} Hit
 */

export {};
