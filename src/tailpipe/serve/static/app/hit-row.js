// @ts-check
// One hit: what it is about, the row that made it, and what was done about it.
import { html, useState } from "../vendor/core.js";
import { moment, visible } from "./format.js";
import { Icon } from "./icons.js";
import { href } from "./route.js";
import { iso } from "./time.js";
import { Tree } from "./tree.js";

/** @typedef {import("./types.js").Hit} Hit */

/** The row of a hit, in Explore, among those around it. @param {Hit} hit */
function rowOf(hit) {
  const at = new Date(hit.time).getTime();
  const row = hit.tp_id && hit.tp_date ? [hit.table, hit.tp_date, hit.tp_id].join("~") : null;
  return href("explore", { table: hit.table, from: iso(at - 300_000), to: iso(at + 300_000), row });
}

/** @param {{hit: Hit, onAcknowledge: (hits: Hit[], acknowledged: boolean, note?: string) => void}} props */
function Acknowledge({ hit, onAcknowledge }) {
  const [note, setNote] = useState("");
  if (hit.acknowledged) return html`<button onClick=${() => onAcknowledge([hit], false)}>Open again</button>`;
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    onAcknowledge([hit], true, note.trim());
  };
  return html`<form class="acknowledge" onSubmit=${submit}>
    <input aria-label="Note" placeholder="Note (optional)" maxlength="1000" value=${note} onInput=${(/** @type {any} */ event) => setNote(event.target.value)} />
    <button class="primary" type="submit"><${Icon} name="check" size=${14} /> Acknowledge</button></form>`;
}

/** @param {{hit: Hit, canChange: boolean, onAcknowledge: (hits: Hit[], acknowledged: boolean, note?: string) => void}} props */
export function HitRow({ hit, canChange, onAcknowledge }) {
  const [isOpen, setOpen] = useState(false);
  const row = hit.row && typeof hit.row === "object" ? /** @type {Record<string, unknown>} */ (hit.row) : null;
  const done = hit.acknowledged;
  return html`<li class=${done ? "hit done" : "hit"}>
    <button class="ghost hit-head" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      <${Icon} name=${isOpen ? "down" : "right"} size=${12} /><span class="severity ${hit.severity}">${hit.severity}</span>
      <span class="hit-title">${visible(hit.title || hit.detection)}</span>${(hit.count || 0) > 1 ? html`<span class="muted">${hit.count} rows</span>` : null}
      <span class="muted hit-table">${hit.table}</span><time class="muted" datetime=${hit.time}>${moment(hit.time, { seconds: true })}</time>
    </button>
    ${isOpen ? html`<div class="hit-body">
      ${done ? html`<p class="muted">Acknowledged ${moment(done.at)}${done.by ? ` by ${done.by}` : ""}${done.note ? html`: <q>${visible(done.note)}</q>` : null}</p>` : null}
      <div class="buttons"><a class="button" href=${rowOf(hit)}><${Icon} name="target" size=${14} /> Jump to the row</a>${canChange ? html`<${Acknowledge} hit=${hit} onAcknowledge=${onAcknowledge} />` : null}</div>
      ${row ? html`<${Tree} row=${row} />` : null}
    </div>` : null}
  </li>`;
}
