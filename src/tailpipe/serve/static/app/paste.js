// @ts-check
// Config text to paste: the explorer writes no config, so that it lives where people review it.
import { html, useState } from "../vendor/core.js";
import { Copy, Dialog } from "./ui.js";

/** @param {string} text */
const indented = (text) => text.trim().split("\n").map((line) => `    ${line}`).join("\n");
/**
 * A text of several lines, closed by a word that none of its lines is: a value from a log cannot end it. `$${` is no
 * template.
 * @param {string} text
 */
function heredoc(text) {
  let word = "EOT";
  for (let at = 1; text.includes(word); at += 1) word = `EOT${at}`;
  return `<<-${word}\n${indented(text.replace(/\$\{/g, "$$$${"))}\n  ${word}`;
}

/** @param {string} name @param {string} sql */
export const query = (name, sql) => `query "${name}" {
  title = "${name.replace(/_/g, " ")}"
  sql   = ${heredoc(sql)}
}`;

/** @param {string} name @param {string} sql @param {string} table */
export const detection = (name, sql, table) => `detection "${name}" {
  title    = "${name.replace(/_/g, " ")}"
  table    = "${table}"
  severity = "medium"
  where    = ${heredoc(conditionOf(sql))}
}`;

/** What stands between WHERE and what follows it, without the window; words in quotes are no clauses. @param {string} sql */
function conditionOf(sql) {
  const words = sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, (quoted) => quoted[0] + "_".repeat(quoted.length - 2) + quoted[0]);
  const match = /\bWHERE\b([\s\S]*?)(?:\bORDER BY\b|\bLIMIT\b|$)/d.exec(words);
  const [start, end] = match?.indices?.[1] ?? [0, 0];
  const window = /\btp_timestamp (?:>=|<) TIMESTAMP '_*'(?:\s+AND\b)?/g;
  let condition = "";
  let at = start;
  for (const found of words.slice(start, end).matchAll(window)) {
    condition += sql.slice(at, start + found.index);
    at = start + found.index + found[0].length;
  }
  return (condition + sql.slice(at, end)).trim().replace(/\s+AND$/, "") || "true";
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
