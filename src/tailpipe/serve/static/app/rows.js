// @ts-check
// The rows of the search, newest first; more come while scrolling.
import { html, useEffect } from "../vendor/core.js";
import { busy, cursor, errors, keyOf, loadMore, page, params, tableName, toggleColumn, histogram } from "./explore-state.js";
import { Grid } from "./grid.js";
import { Icon } from "./icons.js";
import { isTyping } from "./keys.js";
import { boundsOf } from "./meta.js";
import { change } from "./route.js";
import { Empty } from "./ui.js";
import { moment, number } from "./format.js";

/** @param {number} at */
function open(at) {
  const id = page.value?.ids[at];
  if (!id) return;
  cursor.value = at;
  change({ row: keyOf(id) }, { replace: Boolean(params.value.row) });
}

/** j and k move, Enter opens, Esc closes. */
function useRowKeys() {
  useEffect(() => {
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
      const last = (page.value?.rows.length || 0) - 1;
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape" && params.value.row) change({ row: null });
      const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
      const isGrid = Boolean(/** @type {HTMLElement} */ (event.target).closest(".grid"));
      if (step && last >= 0 && (isGrid || event.key.length === 1)) {
        event.preventDefault();
        cursor.value = Math.min(last, Math.max(0, cursor.value + step));
        if (params.value.row) open(cursor.value);
      }
      const isButton = Boolean(/** @type {HTMLElement} */ (event.target).closest("button, a"));
      if (event.key === "Enter" && cursor.value >= 0 && !isButton) open(cursor.value);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

/** @param {{column: import("./types.js").Column}} props */
function Head({ column }) {
  const isFixed = column.name === "tp_timestamp" || column.name === "table";
  return html`<span class="th"><span>${column.name === "tp_timestamp" ? "time" : column.name}</span>${isFixed ? null : html`<button class="ghost square small"
    aria-label=${`Remove column ${column.name}`} title="Remove the column" onClick=${() => toggleColumn(column.name)}><${Icon} name="close" size=${12} /></button>`}</span>`;
}

function NoRows() {
  const { first, last } = boundsOf(tableName.value);
  const all = () => change({ last: "all", from: null, to: null });
  const newest = () => change({ last: null, from: null, to: null });
  if (!last) return html`<${Empty} title="This table has no rows" icon="table"><p>Collect them with <code>tailpipe collect</code>.</p><//>`;
  return html`<${Empty} title="No rows found">
    <p>This table has rows from ${moment(first || "")} to ${moment(last)}.</p>
    <p class="buttons"><button onClick=${newest}>Newest day</button><button onClick=${all}>All data</button>
      ${params.value.q ? html`<button onClick=${() => change({ q: null })}>Clear the search</button>` : null}</p>
  <//>`;
}

function Foot() {
  const shown = page.value;
  if (errors.value.more) return html`<button onClick=${() => void loadMore()}>Loading failed: try again</button>`;
  if (!shown?.next) return html`<span class="muted">${number(shown?.rows.length)} rows, all that match</span>`;
  if (busy.value.more) return html`<span class="muted">${shown.complete ? "Loading more rows …" : "Looking further back …"}</span>`;
  if (!shown.complete) return html`<button onClick=${() => void loadMore()}>Look further back</button>`;
  return html`<span class="muted">Scroll for more</span>`;
}

export function Rows() {
  useRowKeys();
  const shown = page.value;
  if (!shown && errors.value.rows) return html`<section class="rows" aria-label="Rows" />`;
  if (!shown) return html`<section class="rows" aria-label="Rows"><div class="skeleton" aria-hidden="true">${Array.from({ length: 14 }, (_, at) => html`<i key=${at} />`)}</div></section>`;
  const opened = params.value.row ? shown.ids.findIndex((id) => keyOf(id) === params.value.row) : -1;
  const isEmpty = !shown.rows.length && !shown.next && !busy.value.rows;
  return html`<section class=${busy.value.rows ? "rows stale" : "rows"} aria-label="Rows" aria-busy=${Boolean(busy.value.rows)} data-total=${histogram.value?.total}>
    ${isEmpty ? html`<${NoRows} />` : html`<${Grid} columns=${shown.columns} rows=${shown.rows} label="Rows, newest first" cursor=${cursor.value} opened=${opened}
      onOpen=${open} onEnd=${() => void loadMore()} foot=${html`<${Foot} />`} headOf=${(/** @type {import("./types.js").Column} */ column) => html`<${Head} column=${column} />`} />`}
  </section>`;
}
