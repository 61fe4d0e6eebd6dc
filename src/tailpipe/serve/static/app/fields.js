// @ts-check
// The columns of the table, each with its most frequent values: click filters, Alt-click excludes.
import { html, useState } from "../vendor/core.js";
import { busy, errors, facets, fields, openFields, page, params, toggleColumn, toggleField } from "./explore-state.js";
import { cell, compact, number, own } from "./format.js";
import { Icon } from "./icons.js";
import { change } from "./route.js";
import { fieldName, withTerm } from "./query.js";
import { ErrorBox } from "./ui.js";

/** @typedef {import("./types.js").Facet} Facet */

const MOST_FIELDS = 300;

/** @param {string} name @param {unknown} value @param {boolean} exclude */
function filter(name, value, exclude) {
  change({ q: withTerm(params.value.q || "", fieldName(name), value, exclude), row: null });
}

/** @param {{name: string, value: unknown, count: number, most: number}} props */
function TopValue({ name, value, count, most }) {
  const text = value === null || value === "" ? "(empty)" : cell(value);
  return html`<li><button class="top-value" title=${`${text}: click to filter, Alt-click to exclude`}
    onClick=${(/** @type {MouseEvent} */ event) => filter(name, value, event.altKey)}>
    <i class="share" style=${{ width: `${Math.max(1, (100 * count) / most)}%` }} />
    <span class=${value === null ? "muted" : ""}>${text}</span><span class="muted" title=${number(count)}>${compact(count)}</span></button>
    <button class="ghost square small exclude" aria-label=${`Exclude ${name} ${text}`} title="Exclude" onClick=${() => filter(name, value, true)}><${Icon} name="minus" size=${12} /></button>
  </li>`;
}

/** @param {{facet: Facet}} props */
function TopValues({ facet }) {
  const values = [...facet.values, ...(facet.nulls ? [{ value: null, count: facet.nulls }] : [])];
  const most = Math.max(1, ...values.map((one) => one.count));
  if (!values.length) return html`<p class="muted note">no values in this window</p>`;
  return html`<ul class="top-values">
    ${values.map(({ value, count }) => html`<${TopValue} key=${String(value)} name=${facet.name} value=${value} count=${count} most=${most} />`)}
    ${facet.other ? html`<li class="muted note">other values: ${compact(facet.other)}</li>` : null}
  </ul>`;
}

/** @param {{field: import("./types.js").TableColumn}} props */
function Field({ field }) {
  const isOpen = openFields.value.includes(field.name);
  const facet = own(facets.value, field.name);
  const isColumn = page.value?.columns.some(({ name }) => name === field.name);
  return html`<li class="field">
    <div class="field-head">
      <button class="ghost field-name" aria-expanded=${isOpen} title=${field.description || field.type} onClick=${() => toggleField(field.name)}>
        <${Icon} name=${isOpen ? "down" : "right"} size=${12} /><span>${field.name}</span><span class="muted type">${field.type.toLowerCase().slice(0, 12)}</span></button>
      <button class="ghost square small as-column" aria-pressed=${Boolean(isColumn)} aria-label=${`Show ${field.name} as column`} title=${isColumn ? "Remove the column" : "Show as column"}
        onClick=${() => toggleColumn(field.name)}><${Icon} name="column" size=${14} /></button>
    </div>
    ${isOpen ? (facet ? html`<${TopValues} facet=${facet} />` : html`<p class="muted note">${busy.value.fields || busy.value.rows ? "counting …" : "–"}</p>`) : null}
  </li>`;
}

export function Fields() {
  const [wanted, setWanted] = useState("");
  const [isShown, setShown] = useState(false);
  const matching = fields.value.filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()));
  const others = matching.filter(({ name }) => !name.startsWith("tp_"));
  const shown = others.slice(0, MOST_FIELDS);
  const common = matching.filter(({ name }) => name.startsWith("tp_"));
  return html`<aside class=${isShown ? "fields shown" : "fields"} aria-label="Fields">
    <button class="fields-toggle" aria-expanded=${isShown} onClick=${() => setShown(!isShown)}><${Icon} name="column" /> Fields <span class="muted">${fields.value.length}</span></button>
    <div class="fields-list">
      <input type="search" aria-label="Find a field" placeholder="Find a field" value=${wanted} onInput=${(/** @type {any} */ event) => setWanted(event.target.value)} />
      ${errors.value.fields ? html`<${ErrorBox} error=${errors.value.fields} />` : null}
      <ul>${shown.map((field) => html`<${Field} key=${field.name} field=${field} />`)}</ul>
      ${common.length ? html`<h3>Common columns</h3><ul>${common.map((field) => html`<${Field} key=${field.name} field=${field} />`)}</ul>` : null}
      ${shown.length < others.length ? html`<p class="muted note">${number(others.length - shown.length)} more: find them by name.</p>` : null}
      ${matching.length ? null : html`<p class="muted note">No field has this name.</p>`}
    </div>
  </aside>`;
}
