// @ts-check
// The page SQL: editor, saved queries, history, result, chart and export.
import { html, useEffect, useState } from "../vendor/core.js";
import { get } from "./api.js";
import { Icon } from "./icons.js";
import { meta } from "./meta.js";
import { navigate, route } from "./route.js";
import { SqlEditor } from "./sql-editor.js";
import { SqlResult } from "./sql-result.js";
import { SqlSide } from "./sql-side.js";
import { ParamForm } from "./param-form.js";
import { Paste } from "./paste.js";
import { ExportMenu } from "./export-menu.js";
import { isRunning, paramValues, run, stop, takeRoute, text } from "./sql-state.js";
import { Loading, useLoad } from "./ui.js";

/** @typedef {import("./types.js").SavedQuery} SavedQuery */

/** Queries over tables of this workspace come first. @param {SavedQuery[]} queries */
function usableFirst(queries) {
  const names = (meta.value?.tables || []).map(({ name }) => name);
  const isUsable = (/** @type {SavedQuery} */ { sql }) => names.some((name) => sql.includes(name));
  return [...queries.filter(isUsable), ...queries.filter((query) => !isUsable(query))];
}

export function SqlPage() {
  const { data } = useLoad((signal) => get("saved", {}, signal), []);
  const [isSaving, setSaving] = useState(false);
  const queries = /** @type {SavedQuery[]} */ (usableFirst(data?.queries || []));
  const saved = queries.find(({ name }) => name === route.value.params.saved) || null;
  const params = saved?.params || [];
  const start = () => void run(saved);
  useEffect(takeRoute, [route.value.params.sql]);
  useEffect(() => {
    if (saved && !route.value.params.sql) text.value = saved.sql;
  }, [saved]);
  useEffect(() => stop, []);

  const choose = (/** @type {SavedQuery} */ query) => {
    paramValues.value = {};
    text.value = query.sql;
    navigate("sql", { saved: query.name });
  };
  return html`<div class="sql-grid">
    <h1 class="hidden">SQL</h1>
    <${SqlSide} queries=${queries} chosen=${saved} onQuery=${choose} onHistory=${(/** @type {string} */ sql) => (text.value = sql)} />
    <div class="sql-main">
      <${SqlEditor} onRun=${start} />
      ${params.length ? html`<${ParamForm} params=${params} values=${paramValues.value} onChange=${(/** @type {Record<string, string>} */ values) => (paramValues.value = values)} onRun=${start} />` : null}
      <div class="toolbar">
        ${isRunning.value
          ? html`<button class="run" onClick=${stop}><${Icon} name="stop" /> Stop</button>`
          : html`<button class="run primary" disabled=${!text.value.trim()} onClick=${start}><${Icon} name="play" /> Run <kbd>Ctrl ⏎</kbd></button>`}
        <${ExportMenu} saved=${saved} />
        <button class="ghost" disabled=${!text.value.trim()} onClick=${() => setSaving(true)}><${Icon} name="save" /> Save as query</button>
      </div>
      <${Loading} busy=${isRunning.value} label="Running" />
      <${SqlResult} />
    </div>
    ${isSaving ? html`<${Paste} kind="query" sql=${text.value} table="" onClose=${() => setSaving(false)} />` : null}
  </div>`;
}
