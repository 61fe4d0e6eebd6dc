// @ts-check
// Config text to paste: the explorer writes no config, so that it lives where people review it.
import { html, useState } from "../vendor/core.js";
import { Copy, Dialog } from "./ui.js";

/** @param {string} text */
const indented = (text) => text.trim().split("\n").map((line) => `    ${line}`).join("\n");
/** `$${` and `%%{` keep templates of the config out of SQL. @param {string} sql */
const literal = (sql) => sql.replace(/\$\{/g, "$$${").replace(/%\{/g, "%%{");

/** @param {string} name @param {string} sql */
const query = (name, sql) => `query "${name}" {
  title = "${name.replace(/_/g, " ")}"
  sql   = <<-EOT
${indented(literal(sql))}
  EOT
}`;

/** @param {string} name @param {string} sql @param {string} table */
const detection = (name, sql, table) => `detection "${name}" {
  title    = "${name.replace(/_/g, " ")}"
  table    = "${table}"
  severity = "medium"
  where    = <<-EOT
${indented(literal(conditionOf(sql)))}
  EOT
}`;

/** What stands between WHERE and what follows it, without the window. @param {string} sql */
function conditionOf(sql) {
  const match = /\bWHERE\b([\s\S]*?)(?:\bORDER BY\b|\bLIMIT\b|$)/i.exec(sql);
  const condition = (match ? match[1] : "").replace(/\btp_timestamp (?:>=|<) TIMESTAMP '[^']*'(?:\s+AND\b)?/gi, "").trim();
  return condition.replace(/\s+AND$/i, "") || "true";
}

/** @param {{kind: "query" | "detection", sql: string, table: string, onClose: () => void}} props */
export function Paste({ kind, sql, table, onClose }) {
  const [name, setName] = useState(kind === "query" ? "my_query" : "my_detection");
  const clean = name.toLowerCase().replace(/[^a-z0-9_]+/g, "_").replace(/^_+|_+$/g, "") || "unnamed";
  const text = kind === "query" ? query(clean, sql) : detection(clean, sql, table);
  const next = kind === "query" ? `tailpipe query ${clean}` : `tailpipe detection test ${clean}`;
  return html`<${Dialog} title=${kind === "query" ? "Save as query" : "Save as detection"} onClose=${onClose} wide>
    <p>Paste this into a <code>.tpc</code> file of your config, run <code>tailpipe config check --sql</code>, then <code>${next}</code>.</p>
    <label>Name <input class="mono" value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label>
    <pre class="paste" tabindex="0">${text}</pre>
    <p class="buttons"><${Copy} text=${() => text} label="Copy" class="primary" /></p>
  <//>`;
}
