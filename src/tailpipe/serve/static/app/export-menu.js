// @ts-check
// Export the whole answer of a statement, written by the server as the command line writes it.
import { html, useState } from "../vendor/core.js";
import { download } from "./api.js";
import { Icon } from "./icons.js";
import { statement, text } from "./sql-state.js";
import { ErrorBox, Menu } from "./ui.js";

const FORMATS = [["csv", "CSV"], ["jsonl", "JSON Lines"], ["json", "JSON"], ["parquet", "Parquet"]];

/** @param {{saved: import("./types.js").SavedQuery | null, close: () => void}} props */
function Formats({ saved, close }) {
  const [state, setState] = useState(/** @type {{busy: boolean, error: unknown}} */ ({ busy: false, error: null }));
  const save = async (/** @type {string} */ format) => {
    setState({ busy: true, error: null });
    try {
      await download({ ...statement(text.value.trim(), saved), format }, `result.${format}`);
      close();
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  return html`<ul class="choices">${FORMATS.map(([format, label]) => html`<li key=${format}><button class="ghost" disabled=${state.busy} onClick=${() => void save(format)}>${label}</button></li>`)}</ul>
    <${ErrorBox} error=${state.error} source=${text.value} />`;
}

/** @param {{saved: import("./types.js").SavedQuery | null}} props */
export function ExportMenu({ saved }) {
  const label = html`<${Icon} name="download" /> Export`;
  return html`<${Menu} class="ghost" title="Export" label=${label}>${(/** @type {() => void} */ close) => html`<${Formats} saved=${saved} close=${close} />`}<//>`;
}
