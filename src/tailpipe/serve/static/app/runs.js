// @ts-check
// The runs of a partition, newest first, with the columns that the server has.
import { html } from "../vendor/core.js";
import { get } from "./api.js";
import { bytes, number, plain, stamp, visible } from "./format.js";
import { ErrorBox, useLoad } from "./ui.js";

/** @param {string} name @param {unknown} value */
function shown(name, value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return /bytes|size/.test(name) ? bytes(value) : number(value);
  const text = plain(value);
  return /^\d{4}-\d\d-\d\dT/.test(text) ? stamp(text) : visible(text.slice(0, 300));
}

/** @param {{partition: string}} props */
export function Runs({ partition }) {
  const { data, error } = useLoad((signal) => get("runs", { partition, limit: 20 }, signal), []);
  const runs = /** @type {Record<string, unknown>[]} */ (data?.runs || []);
  const columns = [...new Set(runs.flatMap((run) => Object.keys(run)))].filter((name) => name !== "partition" && runs.some((run) => run[name] !== null));
  return html`<section class="card" aria-label="Runs"><header><h2>Runs <span class="muted">${partition}</span></h2></header>
    <${ErrorBox} error=${error} />
    ${data && !runs.length ? html`<p class="muted note">No runs are recorded for this partition.</p>` : null}
    ${runs.length ? html`<div class="scroll-x" tabindex="0" role="region" aria-label="Table of runs"><table class="plain"><thead><tr>${columns.map((name) => html`<th key=${name} scope="col" class=${typeof runs[0][name] === "number" ? "num" : ""}>${name.replace(/_/g, " ")}</th>`)}</tr></thead>
      <tbody>${runs.map((run, at) => html`<tr key=${at}>${columns.map((name) => html`<td key=${name} class=${typeof run[name] === "number" ? "num" : ""}>${shown(name, run[name])}</td>`)}</tr>`)}</tbody></table></div>` : null}
  </section>`;
}
