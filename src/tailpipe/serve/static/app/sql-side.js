// @ts-check
// Beside the editor: tables, saved queries, history.
import { html, useState } from "../vendor/core.js";
import { ago, compact, number } from "./format.js";
import { meta } from "./meta.js";
import { forget, history, text } from "./sql-state.js";

/** @typedef {import("./types.js").SavedQuery} SavedQuery */

const MOST_COLUMNS = 300;

/** @param {{name: string}} props */
function TableColumns({ name }) {
  const table = meta.value?.tables.find((one) => one.name === name);
  const columns = table?.columns || [];
  return html`<ul class="columns">${columns.slice(0, MOST_COLUMNS).map((column) => html`<li key=${column.name} title=${column.description}><span>${column.name}</span><span class="muted">${column.type.toLowerCase().slice(0, 14)}</span></li>`)}
    ${columns.length > MOST_COLUMNS ? html`<li class="muted">and ${number(columns.length - MOST_COLUMNS)} more</li>` : null}</ul>`;
}

/** A name as SQL takes it. @param {string} name */
const identifier = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replace(/"/g, '""')}"`);

function Tables() {
  return html`<ul class="side-list">${meta.value?.tables.map((table) => html`<li key=${table.name}><details>
    <summary title=${table.description}><span>${table.name}</span><span class="muted">${compact(table.rows)}</span></summary>
    <button class="small ghost" onClick=${() => (text.value = `SELECT *\nFROM ${identifier(table.name)}\nORDER BY tp_timestamp DESC\nLIMIT 100`)}>Select the newest 100</button>
    <${TableColumns} name=${table.name} /></details></li>`)}</ul>`;
}

/** @param {{queries: SavedQuery[], chosen: SavedQuery | null, onQuery: (query: SavedQuery) => void}} props */
function Saved({ queries, chosen, onQuery }) {
  const [wanted, setWanted] = useState("");
  const matching = queries.filter(({ name, title }) => `${name} ${title || ""}`.toLowerCase().includes(wanted.toLowerCase()));
  if (!queries.length) return html`<p class="muted note">No saved queries. Add <code>query</code> blocks to the config.</p>`;
  return html`<input type="search" aria-label="Find a saved query" placeholder="Find a query" value=${wanted} onInput=${(/** @type {any} */ event) => setWanted(event.target.value)} />
    <ul class="side-list">${matching.map((query) => html`<li key=${query.name}><button class="ghost" aria-pressed=${chosen?.name === query.name} title=${query.description || query.name} onClick=${() => onQuery(query)}>
      <span>${query.title || query.name}</span><span class="muted mono">${query.name}</span></button></li>`)}</ul>`;
}

/** @param {{onHistory: (sql: string) => void}} props */
function History({ onHistory }) {
  if (!history.value.length) return html`<p class="muted note">What you run appears here. It stays in this browser.</p>`;
  return html`<ul class="side-list">${history.value.map((one) => html`<li key=${one.at}><button class="ghost" title=${one.sql} onClick=${() => onHistory(one.sql)}>
      <span class="mono">${one.sql.replace(/\s+/g, " ").slice(0, 90)}</span><span class="muted">${ago(new Date(one.at).toISOString(), Date.now())}</span></button></li>`)}</ul>
    <button class="ghost small" onClick=${forget}>Clear the history</button>`;
}

/** @param {{queries: SavedQuery[], chosen: SavedQuery | null, onQuery: (query: SavedQuery) => void, onHistory: (sql: string) => void}} props */
export function SqlSide({ queries, chosen, onQuery, onHistory }) {
  const [tab, setTab] = useState(chosen ? "saved" : "tables");
  const tabs = /** @type {const} */ ([["tables", "Tables"], ["saved", "Saved"], ["history", "History"]]);
  return html`<aside class="sql-side" aria-label="Tables, saved queries and history">
    <div class="tabs" role="tablist">${tabs.map(([name, label]) => html`<button key=${name} role="tab" id=${`side-${name}`} aria-selected=${tab === name} aria-controls="side-panel" onClick=${() => setTab(name)}>${label}</button>`)}</div>
    <div class="side-panel" id="side-panel" role="tabpanel" aria-labelledby=${`side-${tab}`}>
      ${tab === "tables" ? html`<${Tables} />` : tab === "saved" ? html`<${Saved} queries=${queries} chosen=${chosen} onQuery=${onQuery} />` : html`<${History} onHistory=${onHistory} />`}
    </div>
  </aside>`;
}
