// @ts-check
// One row whole, beside the rows: as a tree, with the ways that lead on from it.
import { html, useState } from "../vendor/core.js";
import { post } from "./api.js";
import { params, toggleColumn } from "./explore-state.js";
import { stamp } from "./format.js";
import { Icon } from "./icons.js";
import { ALL } from "./meta.js";
import { change, href } from "./route.js";
import { withTerm } from "./query.js";
import { iso } from "./time.js";
import { Tree } from "./tree.js";
import { Copy, ErrorBox, Loading, useLoad } from "./ui.js";

const MINUTES = 5;

/** Other rows of the same table, around the time of this one. @param {string} table @param {string} time */
function around(table, time) {
  const at = new Date(time).getTime();
  const { color, cols, row } = params.value;
  return href("explore", { table, color, cols, row, from: iso(at - MINUTES * 60_000), to: iso(at + MINUTES * 60_000) });
}

/** @param {{id: {table: string, tp_id: string, tp_date: string}}} props */
function Related({ id }) {
  const [isOpen, setOpen] = useState(false);
  const { data, error, busy } = useLoad((signal) => (isOpen ? post("related", id, signal) : Promise.resolve(null)), [isOpen]);
  const { from, to, last } = params.value;
  const link = (/** @type {import("./types.js").Entity} */ one) => href("explore", { table: ALL, q: one.q, from, to, last });
  return html`<div class="related">
    <button aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}><${Icon} name="link" size=${14} /> Same address or user in all tables</button>
    ${isOpen && error ? html`<${ErrorBox} error=${error} />` : null}
    ${isOpen && data ? html`<ul>${data.entities.map((/** @type {import("./types.js").Entity} */ one) => html`<li key=${one.q}><a href=${link(one)}><span class="muted">${one.kind}</span> <span class="mono">${one.value}</span></a></li>`)}
      ${data.entities.length ? null : html`<li class="muted">This row names no address and no user.</li>`}</ul>` : null}
    ${isOpen && busy ? html`<p class="muted">Loading …</p>` : null}
  </div>`;
}

export function RowDetail() {
  const [table, tp_date, ...rest] = (params.value.row || "").split("~");
  const id = { table, tp_date, tp_id: rest.join("~") };
  const { data, error, busy } = useLoad((signal) => post("row", id, signal), []);
  const row = /** @type {Record<string, unknown> | null} */ (data?.row || null);
  const time = row?.tp_timestamp ? String(row.tp_timestamp) : null;
  const actions = {
    filter: (/** @type {string} */ field, /** @type {unknown} */ value, /** @type {boolean} */ exclude) =>
      change({ q: withTerm(params.value.q || "", field, value, exclude) }),
    column: toggleColumn,
  };
  return html`<aside class="detail" aria-label="Row">
    <header>
      <div><h2>${time ? stamp(time) : "Row"}</h2><p class="muted">${table}</p></div>
      <${Copy} text=${() => JSON.stringify(row, null, 2)} label="JSON" class="ghost small" />
      <button class="ghost square" aria-label="Close the row" title="Close (Esc)" onClick=${() => change({ row: null })}><${Icon} name="close" /></button>
    </header>
    <${Loading} busy=${busy} />
    <${ErrorBox} error=${error} />
    ${row ? html`<div class="detail-actions">
        ${time ? html`<a class="button" href=${around(table, time)}><${Icon} name="target" size=${14} /> Around this moment</a>` : null}
        <${Related} id=${id} />
      </div><${Tree} row=${row} actions=${actions} />` : null}
  </aside>`;
}
