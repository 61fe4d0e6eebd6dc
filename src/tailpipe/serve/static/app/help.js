// @ts-check
// Keys and the grammar of the search box.
import { html } from "../vendor/core.js";
import { meta } from "./meta.js";
import { Dialog } from "./ui.js";

const KEYS = [
  ["/", "Search"],
  ["j  k", "Next and previous row"],
  ["Enter", "Open the row"],
  ["Esc", "Close"],
  ["Ctrl Enter", "Run the SQL"],
  ["g then e s d h t", "Explore, SQL, Dashboards, Hits, Status"],
  ["?", "This help"],
];
const TERMS = [
  ["status:500", "equals"],
  ["status:>=500", "at least; also > < <="],
  ["status:400..499", "a range"],
  ["path:/login*", "begins with"],
  ["user:*", "has a value"],
  ["-method:GET", "not"],
  ["order.id:17", "a field inside an object"],
  ['timeout "no answer"', "words and phrases in the text columns"],
  ["(status:401 OR status:403)", "either"],
];

/** @param {{rows: string[][]}} props */
function Pairs({ rows }) {
  return html`<dl class="pairs">${rows.map(([key, text]) => html`<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl>`;
}

/** @param {{onClose: () => void}} props */
export function Help({ onClose }) {
  const limits = meta.value?.limits;
  return html`<${Dialog} title="Help" onClose=${onClose} wide>
    <div class="help">
      <section><h3>Keys</h3><${Pairs} rows=${KEYS} />
        <h3>Fields</h3><p>Click a value to filter by it. <kbd>Alt</kbd> click excludes it.</p>
        <h3>Histogram</h3><p>Drag to zoom. Hatched days were not collected.</p></section>
      <section><h3>Search</h3><${Pairs} rows=${TERMS} /></section>
    </div>
    <p class="muted">tailpipe ${meta.value?.version || ""}${limits ? ` · at most ${limits.rows.toLocaleString("en-US")} rows and ${limits.seconds} s for each statement` : ""} · times are UTC</p>
  <//>`;
}
