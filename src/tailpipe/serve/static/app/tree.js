// @ts-check
// A row as a tree: each value can be filtered by, excluded, made a column or copied.
import { html, useState } from "../vendor/core.js";
import { bytes, count, cutValue, plain, visible } from "./format.js";
import { Icon } from "./icons.js";
import { fieldName } from "./query.js";
import { Copy } from "./ui.js";

/** @typedef {{filter: (field: string, value: unknown, exclude: boolean) => void, column: (field: string) => void} | null} Actions */

/** JSON text becomes what it says. @param {unknown} value @returns {unknown} */
function parsed(value) {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** @param {unknown} value */
const isBranch = (value) => value !== null && typeof value === "object" && !cutValue(value);

/** @param {{value: unknown}} props */
function Leaf({ value }) {
  const cut = cutValue(value);
  if (value === null || value === undefined) return html`<span class="value null">null</span>`;
  const kind = cut ? "string" : typeof value;
  return html`<span class="value ${kind}">${visible(plain(value))}${cut ? html`<em class="muted"> … truncated, ${bytes(cut.length)} in total</em>` : null}</span>`;
}

/** @param {{name: string, field: string, value: unknown, actions: Actions, isColumn: boolean}} props */
function Buttons({ name, field, value, actions, isColumn }) {
  const canFilter = actions && !isBranch(value) && !cutValue(value) && plain(value).length <= 1000;
  return html`<span class="node-actions">
    ${canFilter ? html`<button class="ghost square small" title="Filter" aria-label=${`Filter by ${field}`} onClick=${() => actions.filter(field, value, false)}><${Icon} name="plus" size=${14} /></button>
      <button class="ghost square small" title="Exclude" aria-label=${`Exclude ${field}`} onClick=${() => actions.filter(field, value, true)}><${Icon} name="minus" size=${14} /></button>` : null}
    ${actions && isColumn ? html`<button class="ghost square small" title="As column" aria-label=${`${field} as column`} onClick=${() => actions.column(name)}><${Icon} name="column" size=${14} /></button>` : null}
    <${Copy} text=${() => plain(value)} class="ghost square small" />
  </span>`;
}

/** @param {{name: string, field: string, value: unknown, actions: Actions, depth: number, inList: boolean}} props */
function Node({ name, field, value: given, actions, depth, inList }) {
  const value = parsed(given);
  const size = isBranch(value) ? Object.keys(/** @type {object} */ (value)).length : 0;
  const [isOpen, setOpen] = useState(depth < 2 && size <= 30);
  const here = inList ? null : actions;
  if (!isBranch(value)) {
    return html`<li class="node"><span class="key">${visible(name)}</span><${Leaf} value=${value} /><${Buttons} name=${name} field=${field} value=${value} actions=${here} isColumn=${depth === 0} /></li>`;
  }
  const isList = Array.isArray(value);
  return html`<li class="node branch">
    <button class="ghost key" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}><${Icon} name=${isOpen ? "down" : "right"} size=${12} />${visible(name)}</button>
    <span class="muted">${isList ? `[${size}]` : `{${size}}`}</span><${Buttons} name=${name} field=${field} value=${value} actions=${here} isColumn=${depth === 0} />
    ${isOpen ? html`<${Nodes} value=${/** @type {object} */ (value)} prefix=${field} actions=${actions} depth=${depth + 1} inList=${inList || isList} />` : null}
  </li>`;
}

/** @param {{value: object, prefix: string, actions: Actions, depth: number, inList: boolean}} props */
function Nodes({ value, prefix, actions, depth, inList }) {
  const [limit, setLimit] = useState(200);
  const entries = Object.entries(value);
  return html`<ul class="nodes">${entries.slice(0, limit).map(([key, one]) => html`<${Node} key=${key} name=${key} field=${prefix ? `${prefix}.${fieldName(key)}` : fieldName(key)} value=${one} actions=${actions} depth=${depth} inList=${inList} />`)}
    ${entries.length > limit ? html`<li><button class="ghost small" onClick=${() => setLimit(limit + 500)}>${entries.length - limit} more</button></li>` : null}</ul>`;
}

/** @param {{row: Record<string, unknown>, actions?: Actions}} props */
export function Tree({ row, actions = null }) {
  const [isWhole, setWhole] = useState(false);
  const empty = Object.values(row).filter((value) => value === null).length;
  const entries = Object.entries(row).filter(([, value]) => isWhole || value !== null);
  const own = Object.fromEntries(entries.filter(([name]) => !name.startsWith("tp_")));
  const common = Object.fromEntries(entries.filter(([name]) => name.startsWith("tp_")));
  return html`<div class="tree">
    <${Nodes} value=${own} prefix="" actions=${actions} depth=${0} inList=${false} />
    ${Object.keys(common).length ? html`<h3>Common columns</h3><${Nodes} value=${common} prefix="" actions=${actions} depth=${0} inList=${false} />` : null}
    ${empty ? html`<button class="ghost small empty-columns" aria-expanded=${isWhole} onClick=${() => setWhole(!isWhole)}>${isWhole ? "Hide" : "Show"} ${count(empty, "empty column")}</button>` : null}
  </div>`;
}
