// @ts-check
// The search box, with completion of fields and of the values in view.
import { html, useEffect, useRef, useState } from "../vendor/core.js";
import { Icon } from "./icons.js";
import { cell, compact, own, plain } from "./format.js";
import { facets, fields } from "./explore-state.js";
import { fieldName, quoted, wordAt } from "./query.js";
import { isTyping } from "./keys.js";

/** @typedef {{text: string, insert: string, detail: string}} Suggestion */

/** @param {string} q @param {number} caret @returns {{begin: number, options: Suggestion[]}} */
function suggest(q, caret) {
  const { field, word, begin } = wordAt(q, caret);
  const typed = word.toLowerCase();
  if (field === null) {
    const matching = typed ? fields.value.filter(({ name }) => name.toLowerCase().includes(typed)) : [];
    matching.sort((one, other) => Number(other.name.toLowerCase().startsWith(typed)) - Number(one.name.toLowerCase().startsWith(typed)));
    return { begin, options: matching.slice(0, 8).map(({ name, type }) => ({ text: name, insert: `${fieldName(name)}:`, detail: type })) };
  }
  const values = (own(facets.value, field)?.values || []).filter(({ value }) => value !== null && plain(value).toLowerCase().includes(typed));
  const options = values.slice(0, 8).map(({ value, count }) => ({ text: cell(value), insert: `${quoted(value)} `, detail: compact(count) }));
  return { begin, options: options.length === 1 && options[0].text === word ? [] : options };
}

/** @param {{current: HTMLInputElement | null}} ref */
function useSlash(ref) {
  useEffect(() => {
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "/" || isTyping(event) || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      ref.current?.focus();
      ref.current?.select();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

/** @param {{q: string, onSubmit: (q: string) => void}} props */
export function SearchBox({ q, onSubmit }) {
  const ref = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [text, setText] = useState(q);
  const [found, setFound] = useState({ begin: 0, options: /** @type {Suggestion[]} */ ([]) });
  const [active, setActive] = useState(-1);
  useEffect(() => setText(q), [q]);
  useSlash(ref);

  const close = () => setFound({ begin: 0, options: [] });
  const look = (/** @type {HTMLInputElement} */ input) => {
    setText(input.value);
    setFound(suggest(input.value, input.selectionStart ?? input.value.length));
    setActive(-1);
  };
  const accept = (/** @type {Suggestion} */ option) => {
    const input = ref.current;
    if (!input) return;
    input.setRangeText(option.insert, found.begin, input.selectionStart ?? input.value.length, "end");
    input.focus();
    look(input);
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const { options } = found;
    if (event.key === "Escape") {
      if (!options.length) ref.current?.blur();
      close();
    } else if (event.key === "Enter" || (event.key === "Tab" && active >= 0)) {
      event.preventDefault();
      if (active >= 0) return accept(options[active]);
      close();
      onSubmit(text.trim());
    } else if (options.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      setActive((active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length);
    }
    return undefined;
  };
  return html`<div class="search-box">
    <${Icon} name="explore" />
    <input ref=${ref} type="text" value=${text} spellcheck=${false} autocomplete="off" autocapitalize="off" role="combobox"
      aria-label="Search" aria-expanded=${found.options.length > 0} aria-controls="suggestions" aria-autocomplete="list"
      aria-activedescendant=${active >= 0 ? `suggestion-${active}` : undefined}
      placeholder='Search: status:>=500 path:/login* -method:GET "text"'
      onInput=${(/** @type {any} */ event) => look(event.target)} onKeyDown=${onKeyDown} onBlur=${() => setTimeout(close, 150)} />
    ${text ? html`<button class="ghost square small" aria-label="Clear the search" onClick=${() => (setText(""), onSubmit(""))}><${Icon} name="close" size=${14} /></button>` : html`<kbd aria-hidden="true">/</kbd>`}
    <ul id="suggestions" role="listbox" aria-label="Suggestions" class="suggestions" hidden=${!found.options.length}>
      ${found.options.map((option, at) => html`<li key=${option.text} id=${`suggestion-${at}`} role="option" aria-selected=${at === active}
        onPointerDown=${(/** @type {Event} */ event) => (event.preventDefault(), accept(option))}>
        <span class="mono">${option.text}</span><span class="muted">${option.detail}</span></li>`)}
    </ul>
  </div>`;
}
