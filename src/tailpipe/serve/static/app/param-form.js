// @ts-check
// Values for the parameters of a saved query.
import { html } from "../vendor/core.js";
import { own, plain } from "./format.js";

/** @param {{params: import("./types.js").Param[], values: Record<string, string>, onChange: (values: Record<string, string>) => void, onRun: () => void}} props */
export function ParamForm({ params, values, onChange, onRun }) {
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    onRun();
  };
  return html`<form class="params" aria-label="Parameters" onSubmit=${submit}>
    ${params.map(({ name, type, default: usual, description }) => html`<label key=${name} title=${description}>
      <span>${name} <span class="muted">${type}</span></span>
      <input class="mono" value=${own(values, name) ?? plain(usual)} placeholder=${description || ""} onInput=${(/** @type {any} */ event) => onChange({ ...values, [name]: event.target.value })} />
    </label>`)}
    <button hidden type="submit">Run</button>
  </form>`;
}
