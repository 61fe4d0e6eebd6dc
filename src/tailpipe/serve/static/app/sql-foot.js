// @ts-check
// The SQL behind the rows, always in view, with what it cost and the ways to keep it.
import { html, useState } from "../vendor/core.js";
import { histogram, page, tableName } from "./explore-state.js";
import { count, duration, number } from "./format.js";
import { Icon } from "./icons.js";
import { ALL } from "./meta.js";
import { Paste } from "./paste.js";
import { openSql } from "./sql-state.js";
import { Copy } from "./ui.js";

/** @param {import("./types.js").Cost} cost */
function costOf(cost) {
  const files = cost.files ? ` · ${number(cost.files.read)} of ${count(cost.files.total, "file")}` : "";
  return `${duration(cost.ms)}${files}`;
}

export function SqlFoot() {
  const [isOpen, setOpen] = useState(false);
  const [paste, setPaste] = useState(/** @type {"query" | "detection" | null} */ (null));
  const shown = page.value;
  const sql = shown?.sql || "";
  const total = histogram.value ? ` · ${histogram.value.source === "catalog" ? "counts from the catalog" : `histogram ${duration(histogram.value.ms)}`}` : "";
  return html`<footer class=${isOpen ? "sql-foot open" : "sql-foot"} aria-label="SQL">
    <div class="sql-line">
      <button class="ghost square small" aria-expanded=${isOpen} aria-label="Show the whole SQL" onClick=${() => setOpen(!isOpen)}><${Icon} name=${isOpen ? "down" : "right"} size=${14} /></button>
      <code class="sql-text" title=${isOpen ? undefined : "The SQL of these rows"}>${isOpen ? "" : sql.replace(/\s+/g, " ")}</code>
      <span class="cost muted">${shown ? costOf(shown) + total : ""}</span>
      <button class="small" disabled=${!sql} onClick=${() => openSql(sql)}><${Icon} name="sql" size=${14} /> Open in SQL</button>
      <${Copy} text=${() => sql} class="ghost square small" />
      <button class="ghost small wide-only" disabled=${!sql} onClick=${() => setPaste("query")}>Save as query</button>
      <button class="ghost small wide-only" disabled=${!sql || tableName.value === ALL} onClick=${() => setPaste("detection")}>Save as detection</button>
    </div>
    ${isOpen ? html`<pre class="sql-whole" tabindex="0">${sql}</pre>` : null}
    ${paste ? html`<${Paste} kind=${paste} sql=${sql} table=${tableName.value} onClose=${() => setPaste(null)} />` : null}
  </footer>`;
}
