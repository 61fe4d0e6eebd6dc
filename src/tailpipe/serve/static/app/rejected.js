// @ts-check
// Rejected rows: where each stood, why it was rejected, and its text.
import { html } from "../vendor/core.js";
import { get } from "./api.js";
import { plain, visible } from "./format.js";
import { ErrorBox, useLoad } from "./ui.js";

/** @param {{row: import("./types.js").RejectedRow}} props */
function RejectedRow({ row }) {
  return html`<li><p><b>${visible(row.reason)}</b> <span class="muted mono">${visible(row.file)} line ${row.line}</span></p><pre tabindex="0">${visible(plain(row.text).slice(0, 2000))}</pre></li>`;
}

/** @param {{partition: string}} props */
export function Rejected({ partition }) {
  const { data, error } = useLoad((signal) => get("rejected", { partition, limit: 20 }, signal), []);
  const rows = /** @type {import("./types.js").RejectedRow[]} */ (data?.rows || []);
  return html`<section class="card" aria-label="Rejected rows"><header><h2>Rejected rows <span class="muted">${partition}</span></h2></header>
    <${ErrorBox} error=${error} />
    ${data && !rows.length ? html`<p class="muted note">No rows were rejected.</p>` : null}
    ${rows.length ? html`<ul class="rejected">${rows.map((row, at) => html`<${RejectedRow} key=${at} row=${row} />`)}</ul>` : null}
  </section>`;
}
