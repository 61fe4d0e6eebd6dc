// @ts-check
// The page Dashboards: panels over saved queries, as the config declares them.
import { html } from "../vendor/core.js";
import { get, post } from "./api.js";
import { Chart } from "./chart.js";
import { duration } from "./format.js";
import { Icon } from "./icons.js";
import { change, href, route } from "./route.js";
import { Empty, ErrorBox, Loading, useLoad } from "./ui.js";

/** @typedef {import("./types.js").Dashboard} Dashboard */

const EXAMPLE = `dashboard "web" {
  title = "Web server"

  panel "requests" {
    title = "Requests per day"
    query = "requests_per_day"
    kind  = "line"
    width = 12
  }
}`;

/** @param {{dashboard: Dashboard, at: number}} props */
function PanelCard({ dashboard, at }) {
  const panel = dashboard.panels[at];
  const { data, error, busy, reload } = useLoad((signal) => post("panel", { dashboard: dashboard.name, panel: panel.name ?? at, params: {} }, signal), [dashboard.name, at]);
  const width = Math.min(12, Math.max(3, panel.width || (panel.kind === "number" ? 3 : 6)));
  return html`<section class="card panel-card" style=${{ gridColumn: `span ${width}` }} aria-label=${panel.title}>
    <header><h2>${panel.title}</h2><span class="muted cost">${data ? duration(data.ms) : ""}</span>
      <a class="button ghost square small" href=${href("sql", { saved: panel.query })} title="Open in SQL" aria-label=${`Open ${panel.title} in SQL`}><${Icon} name="sql" size=${14} /></a>
      <button class="ghost square small" title="Refresh" aria-label=${`Refresh ${panel.title}`} onClick=${reload}><${Icon} name="refresh" size=${14} /></button></header>
    <${Loading} busy=${busy} label=${`Loading ${panel.title}`} />
    <div class="panel-body ${panel.kind}">
      <${ErrorBox} error=${error} />
      ${data ? html`<${Chart} answer=${data} kind=${panel.kind} height=${220} label=${panel.title} cut=${data.truncated ? "The result is truncated" : ""} />` : null}
      ${data?.truncated && panel.kind === "table" ? html`<p class="muted note">Truncated: only the first rows are shown.</p>` : null}
    </div>
  </section>`;
}

export function Dashboards() {
  const { data, error, busy } = useLoad((signal) => get("dashboards", {}, signal), []);
  const all = /** @type {Dashboard[]} */ (data?.dashboards || []);
  const shown = all.find(({ name }) => name === route.value.params.name) || all[0];
  return html`<div class="column-page">
    <header class="page-head"><h1>${shown?.title || shown?.name || "Dashboards"}</h1>
      ${all.length > 1 ? html`<select aria-label="Dashboard" value=${shown?.name} onChange=${(/** @type {any} */ event) => change({ name: event.target.value })}>
        ${all.map(({ name, title }) => html`<option key=${name} value=${name}>${title || name}</option>`)}</select>` : null}</header>
    <${Loading} busy=${busy} /><${ErrorBox} error=${error} />
    ${data && !shown ? html`<${Empty} title="No dashboards yet" icon="dashboards">
      <p>Dashboards are <code>dashboard</code> blocks of the config, over saved queries. Paste this, change it, and reload:</p><pre class="paste" tabindex="0">${EXAMPLE}</pre><//>` : null}
    ${shown ? html`<div class="panels" key=${shown.name}>${shown.panels.map((_, at) => html`<${PanelCard} key=${at} dashboard=${shown} at=${at} />`)}</div>` : null}
  </div>`;
}
