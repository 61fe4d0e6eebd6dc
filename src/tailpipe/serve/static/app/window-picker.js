// @ts-check
// The time window: presets, or two times in UTC.
import { html, useState } from "../vendor/core.js";
import { Icon } from "./icons.js";
import { Menu } from "./ui.js";
import { params } from "./explore-state.js";
import { histogram, page } from "./explore-state.js";
import { change } from "./route.js";
import { PRESETS, labelOf, parseTime, typed } from "./time.js";

/** @param {{close: () => void}} props */
function Panel({ close }) {
  const shown = histogram.value || page.value;
  const [from, setFrom] = useState(typed(shown?.from));
  const [to, setTo] = useState(typed(shown?.to));
  const [problem, setProblem] = useState("");
  const choose = (/** @type {Record<string, string | null>} */ window) => {
    change({ from: null, to: null, last: null, row: null, ...window });
    close();
  };
  const apply = (/** @type {Event} */ event) => {
    event.preventDefault();
    const [start, end] = [parseTime(from), parseTime(to)];
    if (!start || !end) setProblem("Write times as 2026-11-18 08:05, in UTC.");
    else if (start >= end) setProblem("The start must be before the end.");
    else choose({ from: start, to: end });
  };
  return html`<div class="window-panel">
    <ul class="presets">
      <li><button class="ghost" aria-pressed=${!params.value.last && !params.value.from} onClick=${() => choose({})}>Newest day</button></li>
      ${PRESETS.map(({ name, label }) => html`<li key=${name}><button class="ghost" aria-pressed=${params.value.last === name} onClick=${() => choose({ last: name })}>${label}</button></li>`)}
    </ul>
    <form onSubmit=${apply}>
      <label>From (UTC)<input class="mono" value=${from} placeholder="2026-11-18 00:00" onInput=${(/** @type {any} */ event) => setFrom(event.target.value)} /></label>
      <label>To (UTC)<input class="mono" value=${to} placeholder="2026-11-19 00:00" onInput=${(/** @type {any} */ event) => setTo(event.target.value)} /></label>
      ${problem ? html`<p class="error-message" role="alert">${problem}</p>` : null}
      <button class="primary" type="submit">Apply</button>
    </form>
  </div>`;
}

export function WindowPicker() {
  const label = html`<${Icon} name="clock" /><span>${labelOf(params.value)}</span><${Icon} name="down" size=${12} />`;
  return html`<${Menu} class="window" title="Time window" align="right" label=${label}>${(/** @type {() => void} */ close) => html`<${Panel} close=${close} />`}<//>`;
}
