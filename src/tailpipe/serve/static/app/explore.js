// @ts-check
// The page Explore: search, histogram, fields, rows, one row whole, and the SQL behind it.
import { html, useEffect, useRef } from "../vendor/core.js";
import { ErrorBox, Loading, Empty } from "./ui.js";
import { meta } from "./meta.js";
import * as state from "./explore-state.js";
import { SearchBar } from "./search-bar.js";
import { HistogramCard } from "./histogram.js";
import { Fields } from "./fields.js";
import { Rows } from "./rows.js";
import { RowDetail } from "./row-detail.js";
import { SqlFoot } from "./sql-foot.js";

/** Ask again when the address asks for something else; for less where less has changed. */
function useRuns() {
  const { q, from, to, last, color, cols } = state.params.value;
  const table = state.tableName.value;
  const isFirst = useRef(true);
  useEffect(() => void state.run(), [table, q, from, to, last]);
  useEffect(() => {
    if (!isFirst.current) void state.loadHistogram();
  }, [color]);
  useEffect(() => {
    if (!isFirst.current) void state.loadRows();
    isFirst.current = false;
  }, [cols]);
  useEffect(() => state.stop, []);
}

export function Explore() {
  useRuns();
  if (!meta.value?.tables.length) {
    return html`<${Empty} title="No tables yet" icon="table">
      <p>Describe your logs with <code>tailpipe init</code>, then run <code>tailpipe collect</code>.</p><//>`;
  }
  const { rows: failure, histogram: chartFailure } = state.errors.value;
  const error = failure || chartFailure;
  return html`<div class="explore-grid ${state.params.value.row ? "with-detail" : ""}">
    <h1 class="hidden">Explore</h1>
    <${SearchBar} />
    <${Loading} busy=${state.isBusy.value} label="Searching" />
    ${error ? html`<${ErrorBox} error=${error} source=${state.params.value.q || ""} />` : null}
    <${HistogramCard} />
    <div class="explore-body">
      <${Fields} />
      <${Rows} />
      ${state.params.value.row ? html`<${RowDetail} key=${state.params.value.row} />` : null}
    </div>
    <${SqlFoot} />
  </div>`;
}
