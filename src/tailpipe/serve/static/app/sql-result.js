// @ts-check
// What a statement returned: streamed rows, or a chart of them.
import { html } from "../vendor/core.js";
import { ChartColumns } from "./chart-columns.js";
import { Chart, kindFor } from "./chart.js";
import { count, duration, number } from "./format.js";
import { Grid } from "./grid.js";
import { change, route } from "./route.js";
import { isRunning, result } from "./sql-state.js";
import { Empty, ErrorBox } from "./ui.js";

const KINDS = /** @type {const} */ (["table", "line", "bar", "number"]);

/** @param {{shown: import("./sql-state.js").Result}} props */
function Summary({ shown }) {
  const { end, rows, isStopped } = shown;
  const files = end?.files ? ` · ${number(end.files.read)} of ${count(end.files.total, "file")} read` : "";
  const cut = end?.truncated ? ` · truncated: limit of ${end.reason || "rows"} reached` : "";
  return html`<p class="summary" role="status">${count(rows.length, "row")}${isRunning.value ? " …" : ""}${isStopped ? " · stopped" : ""}${end ? ` · ${duration(end.ms)}${files}` : ""}${cut ? html`<b>${cut}</b>` : null}</p>`;
}

/** @param {{shown: import("./sql-state.js").Result, kind: "line" | "bar" | "number"}} props */
function ChartOf({ shown, kind }) {
  const { x, y, series } = route.value.params;
  const choice = { x, y, series };
  const cut = shown.end?.truncated ? "The result is truncated" : isRunning.value ? "Still running" : shown.isStopped || shown.error ? "The statement did not end" : "";
  return html`<div class="result-chart">
    ${kind === "number" ? null : html`<${ChartColumns} answer=${shown} kind=${kind} choice=${choice} onChoose=${(/** @type {Record<string, string>} */ one) => change(one, { replace: true })} />`}
    <${Chart} answer=${shown} kind=${kind} choice=${choice} cut=${cut} label="Chart of the result" /></div>`;
}

export function SqlResult() {
  const shown = result.value;
  if (!shown) return html`<${Empty} title="No result yet" icon="sql"><p>Write a statement, or choose a saved query. <kbd>Ctrl</kbd> <kbd>Enter</kbd> runs it.</p><//>`;
  if (shown.error && !shown.rows.length) return html`<${ErrorBox} error=${shown.error} source=${shown.sql} />`;
  const asked = route.value.params.view;
  const kind = asked === "chart" ? kindFor(shown) : KINDS.find((one) => one === asked) || "table";
  return html`<section class="result" aria-label="Result">
    <header>
      <div class="segments" role="group" aria-label="Show as">${KINDS.map((one) => html`<button key=${one} aria-pressed=${kind === one} onClick=${() => change({ view: one === "table" ? null : one }, { replace: true })}>${one[0].toUpperCase() + one.slice(1)}</button>`)}</div>
      <${Summary} shown=${shown} />
    </header>
    <${ErrorBox} error=${shown.error} source=${shown.sql} />
    ${kind === "table"
      ? html`<${Grid} columns=${shown.columns} rows=${shown.rows} label="Result" foot=${shown.rows.length || isRunning.value ? null : html`<span class="muted">No rows.</span>`} />`
      : html`<${ChartOf} shown=${shown} kind=${kind} />`}
  </section>`;
}
