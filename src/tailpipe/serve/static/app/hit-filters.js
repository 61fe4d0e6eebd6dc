// @ts-check
// Which hits to show.
import { html } from "../vendor/core.js";
import { change, route } from "./route.js";
import { PRESETS } from "./time.js";

export const SEVERITIES = ["critical", "high", "medium", "low", "info"];

/** @param {{label: string, name: string, usual?: string, choices: string[][]}} props */
function Choice({ label, name, usual = "", choices }) {
  return html`<label class="inline">${label} <select value=${route.value.params[name] || usual} onChange=${(/** @type {any} */ event) => change({ [name]: event.target.value }, { replace: true })}>
    ${choices.map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}</select></label>`;
}

/** @param {{detections: import("./types.js").Detection[]}} props */
export function HitFilters({ detections }) {
  return html`<div class="filters" role="group" aria-label="Filters">
    <${Choice} label="Show" name="acknowledged" usual="false" choices=${[["false", "open"], ["true", "acknowledged"], ["all", "all"]]} />
    <${Choice} label="Severity" name="severity" choices=${[["", "any"], ...SEVERITIES.map((one) => [one, one])]} />
    <${Choice} label="Detection" name="detection" choices=${[["", "any"], ...detections.map(({ name, title }) => [name, title || name])]} />
    <${Choice} label="Time" name="last" choices=${[["", "any"], ...PRESETS.filter(({ seconds }) => seconds).map(({ name, label }) => [name, label.toLowerCase()])]} />
  </div>`;
}
