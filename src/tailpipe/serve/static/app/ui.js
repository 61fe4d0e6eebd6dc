// @ts-check
// Small parts that every page uses: errors, empty states, dialogs, menus, loading.
import { html, useEffect, useRef, useState } from "../vendor/core.js";
import { ApiError, isAbort } from "./api.js";
import { Icon } from "./icons.js";

/** What went wrong, what to do next, and the place in the text that was sent. @param {{error: unknown, source?: string}} props */
export function ErrorBox({ error, source }) {
  if (!error) return null;
  const failure = error instanceof ApiError ? error : new ApiError({ message: String(/** @type {any} */ (error)?.message || error) }, 0);
  const line = source && failure.line ? source.split("\n")[failure.line - 1] : undefined;
  return html`<div class="error" role="alert">
    <p class="error-message">${failure.message}</p>
    ${line !== undefined && failure.column ? html`<${Place} line=${line} at=${failure.line || 1} column=${failure.column} />` : null}
    ${failure.hint ? html`<p class="error-hint">${failure.hint}</p>` : null}
  </div>`;
}

/** A line of the query with a caret below the mistake. @param {{line: string, at: number, column: number}} props */
function Place({ line, at, column }) {
  const start = Math.max(0, column - 60);
  const shown = line.slice(start, start + 120);
  return html`<pre class="error-place"><span class="muted">${`${at} │ `}</span>${`${shown}\n`}<span class="muted">${`${" ".repeat(String(at).length)} │ `}</span>${" ".repeat(Math.max(0, column - 1 - start))}<b>^</b></pre>`;
}

/** @param {{title: string, children?: unknown, icon?: import("./icons.js").IconName}} props */
export function Empty({ title, children, icon = "explore" }) {
  return html`<div class="empty"><${Icon} name=${icon} size=${28} /><h2>${title}</h2><div>${children}</div></div>`;
}

/** A thin bar above what is loading: it takes no room. @param {{busy: boolean, label?: string}} props */
export function Loading({ busy, label = "Loading" }) {
  return html`<div class=${busy ? "loading on" : "loading"} role="status">
    ${busy ? html`<span class="hidden">${label}</span>` : null}
  </div>`;
}

/** @param {{title: string, onClose: () => void, children?: unknown, wide?: boolean}} props */
export function Dialog({ title, onClose, children, wide = false }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => ref.current?.showModal(), []);
  return html`<dialog ref=${ref} class=${wide ? "dialog wide" : "dialog"} aria-label=${title} onClose=${onClose}
    onClick=${(/** @type {MouseEvent} */ event) => event.target === ref.current && ref.current?.close()}>
    <div class="dialog-body">
      <header><h2>${title}</h2>
        <button class="ghost square" aria-label="Close" onClick=${() => ref.current?.close()}><${Icon} name="close" /></button>
      </header>
      ${children}
    </div>
  </dialog>`;
}

/**
 * A button that opens a panel; Esc, a click outside and `close` shut it.
 * @param {{label: unknown, title?: string, class?: string, align?: "left" | "right", isIcon?: boolean, children: (close: () => void) => unknown}} props
 */
export function Menu({ label, title, class: name = "", align = "left", isIcon = false, children }) {
  const [isOpen, setOpen] = useState(false);
  const ref = useRef(/** @type {HTMLDivElement | null} */ (null));
  const close = () => {
    setOpen(false);
    ref.current?.querySelector("button")?.focus();
  };
  useEffect(() => {
    if (!isOpen) return undefined;
    const outside = (/** @type {Event} */ event) => {
      if (!ref.current?.contains(/** @type {Node} */ (event.target))) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [isOpen]);
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !isOpen) return;
    event.stopPropagation();
    close();
  };
  return html`<div class="menu" ref=${ref} onKeyDown=${onKeyDown}>
    <button class=${name} aria-expanded=${isOpen} aria-haspopup="dialog" title=${title} aria-label=${isIcon ? title : undefined} onClick=${() => setOpen(!isOpen)}>${label}</button>
    ${isOpen ? html`<div class="panel ${align}" role="dialog" aria-label=${title}>${children(close)}</div>` : null}
  </div>`;
}

/** Copies a text and says so for a moment. @param {{text: () => string, label?: string, class?: string}} props */
export function Copy({ text, label = "", class: name = "ghost" }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text()).catch(() => undefined);
    setDone(true);
    setTimeout(() => setDone(false), 1200);
  };
  return html`<button class=${name} onClick=${copy} title="Copy" aria-label=${label ? undefined : "Copy"}>
    <${Icon} name=${isDone ? "check" : "copy"} />${label ? html`<span>${isDone ? "Copied" : label}</span>` : null}
  </button>`;
}

/**
 * Load on mount and whenever `deps` change; a newer call aborts the one before. The last answer stays until the next.
 * @template T @param {(signal: AbortSignal) => Promise<T>} load @param {unknown[]} deps
 * @returns {{data: T | null, error: unknown, busy: boolean, reload: () => void}}
 */
export function useLoad(load, deps) {
  const [state, setState] = useState(/** @type {{data: T | null, error: unknown, busy: boolean}} */ ({ data: null, error: null, busy: true }));
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    setState((before) => ({ ...before, busy: true }));
    load(controller.signal).then(
      (data) => setState({ data, error: null, busy: false }),
      (error) => isAbort(error) || setState((before) => ({ ...before, error, busy: false })),
    );
    return () => controller.abort();
  }, [...deps, turn]);
  return { ...state, reload: () => setTurn((before) => before + 1) };
}
