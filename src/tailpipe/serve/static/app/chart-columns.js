// @ts-check
// The columns that a chart draws, to choose from.
import { html } from "../vendor/core.js";
import { NONE, choicesOf, rolesOf, token } from "./chart-roles.js";
import { cell } from "./format.js";

/** @typedef {import("./chart-roles.js").Choice} Choice */
/**
 * @param {{
 *   answer: import("./chart-roles.js").Answer, kind: import("./chart-roles.js").Kind, choice: Choice,
 *   onChoose: (change: Choice) => void,
 * }} props
 */
export function ChartColumns({ answer, kind, choice, onChoose }) {
  const { columns } = answer;
  const roles = rolesOf(answer, kind, choice);
  const { xs, ys, series } = choicesOf(columns, kind, roles);
  const named = (/** @type {number} */ at) => (at >= 0 ? token(columns[at].name) : NONE);
  const select = (/** @type {keyof Choice} */ role, /** @type {string} */ label, /** @type {number} */ shown, /** @type {number[]} */ among, /** @type {string} */ none) => {
    if (among.length + Number(!!none) < 2) return null;
    return html`<label class="inline">${label} <select value=${named(shown)} onChange=${(/** @type {any} */ event) => onChoose({ [role]: event.target.value })}>
      ${none ? html`<option value=${NONE}>${none}</option>` : null}${among.map((at) => html`<option key=${at} value=${token(columns[at].name)}>${cell(columns[at].name)}</option>`)}</select></label>`;
  };
  return html`<div class="chart-columns" role="group" aria-label="Columns of the chart">
    ${select("x", kind === "bar" ? "Label" : "X axis", roles.x, xs, xs.length && roles.x < 0 ? "none" : "")}
    ${select("y", "Values", roles.ys.length === 1 ? roles.ys[0] : -1, ys, ys.length > 1 && (roles.series < 0 || roles.ys.length !== 1) ? "all numbers" : "")}
    ${select("series", "Series", roles.series, series, "none")}
  </div>`;
}
