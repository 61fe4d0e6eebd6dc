// @ts-check
// The SQL editor: CodeMirror, loaded when the page is first shown, with the tables for completion.
import { html, useEffect, useRef, useState } from "../vendor/core.js";
import { meta } from "./meta.js";
import { text } from "./sql-state.js";

/** Names to complete: tables with their columns, and those of other schemas. */
function names() {
  /** @type {Record<string, string[]>} */
  const known = {};
  for (const table of meta.value?.tables || []) known[table.name] = table.columns.map(({ name }) => name);
  for (const { name: schema, tables } of meta.value?.schemas || []) {
    for (const table of tables) known[`${schema}.${table}`] = known[table] || [];
  }
  return known;
}

/** @param {any} kit the module of the editor */
function styles(kit) {
  const { tags } = kit;
  return kit.HighlightStyle.define([
    { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-keyword)" },
    { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
    { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
    { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--muted)", fontStyle: "italic" },
    { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--code-type)" },
  ]);
}

/**
 * Text typed over a selection is replaced by us: the browser would keep the look of the old text as an inline style,
 * which the CSP forbids and reports. Brackets and quotes stay with the editor, which wraps the selection in them.
 * @param {any} event @param {any} view
 */
function typeOver(event, view) {
  const { data, inputType } = event;
  if (inputType !== "insertText" || !data || view.composing || view.state.selection.main.empty || /^[([{'"]$/.test(data)) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
  return true;
}

/** @param {any} kit @param {HTMLElement} parent @param {() => void} onRun */
function editor(kit, parent, onRun) {
  const { EditorView, EditorState, keymap, Prec } = kit;
  const nonce = document.querySelector('meta[name="csp-nonce"]')?.getAttribute("content") || "";
  const state = EditorState.create({
    doc: text.value,
    extensions: [
      EditorView.cspNonce.of(nonce),
      Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (onRun(), true) }])),
      EditorView.domEventHandlers({ beforeinput: typeOver }),
      kit.basicSetup,
      kit.sql({ dialect: kit.PostgreSQL, schema: names(), upperCaseKeywords: true }),
      kit.syntaxHighlighting(styles(kit)),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": "SQL", spellcheck: "false" }),
      kit.placeholder("SELECT … FROM …   Ctrl-Enter runs it"),
      EditorView.updateListener.of((/** @type {any} */ update) => {
        if (update.docChanged) text.value = update.state.doc.toString();
      }),
    ],
  });
  return new EditorView({ state, parent });
}

/** @param {{onRun: () => void}} props */
export function SqlEditor({ onRun }) {
  const ref = useRef(/** @type {HTMLDivElement | null} */ (null));
  const view = useRef(/** @type {any} */ (null));
  const latest = useRef(onRun);
  const [isReady, setReady] = useState(false);
  latest.current = onRun;
  useEffect(() => {
    let isGone = false;
    void import("../vendor/editor.js").then((kit) => {
      if (isGone || !ref.current) return;
      view.current = editor(kit, ref.current, () => latest.current());
      setReady(true);
    });
    return () => {
      isGone = true;
      view.current?.destroy();
    };
  }, []);
  useEffect(() => {
    const shown = view.current;
    if (!shown || shown.state.doc.toString() === text.value) return;
    shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: text.value } });
  }, [text.value]);
  return html`<div class="editor" ref=${ref}>${isReady ? null : html`<pre class="editor-waiting">${text.value}</pre>`}</div>`;
}
