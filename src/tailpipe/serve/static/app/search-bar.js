// @ts-check
// The top of Explore: table, search box, window, Run or Stop.
import { html } from "../vendor/core.js";
import { Icon } from "./icons.js";
import { ALL, meta } from "./meta.js";
import { change, navigate } from "./route.js";
import { isBusy, params, run, stop, tableName } from "./explore-state.js";
import { SearchBox } from "./search-box.js";
import { WindowPicker } from "./window-picker.js";
import { compact } from "./format.js";

/** @param {string} name */
function chooseTable(name) {
  const { q, from, to, last } = params.value;
  navigate("explore", { table: name, q, from, to, last });
}

function TablePicker() {
  const tables = meta.value?.tables || [];
  return html`<select class="table-picker" aria-label="Table" value=${tableName.value}
    onChange=${(/** @type {any} */ event) => chooseTable(event.target.value)}>
    <option value=${ALL}>All tables</option>
    ${tables.map((table) => html`<option key=${table.name} value=${table.name}>${table.name}${table.rows === null ? "" : ` (${compact(table.rows)})`}</option>`)}
  </select>`;
}

export function SearchBar() {
  const submit = (/** @type {string} */ q) => {
    if (q === (params.value.q || "")) void run();
    else change({ q, row: null });
  };
  return html`<div class="search-bar" role="search">
    <${TablePicker} />
    <${SearchBox} q=${params.value.q || ""} onSubmit=${submit} />
    <${WindowPicker} />
    ${isBusy.value
      ? html`<button class="run" onClick=${stop}><${Icon} name="stop" /><span>Stop</span></button>`
      : html`<button class="run primary" onClick=${() => void run()}><${Icon} name="play" /><span>Run</span></button>`}
  </div>`;
}
