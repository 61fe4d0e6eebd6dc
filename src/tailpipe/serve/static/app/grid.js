// @ts-check
// A table of many rows: only those in view are in the page. Cells are text nodes of one line.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/core.js";
import { cell, count, isNumeric } from "./format.js";

const ROW = 28;
const SPARE = 12;
const MOST_COLUMNS = 200;

/** @typedef {import("./types.js").Column} Column */
/** @typedef {import("./types.js").Value} Value */

/** Widths by the longest of the first rows. @param {Column[]} columns @param {Value[][]} rows */
function widthsOf(columns, rows) {
  return columns.map(({ name, type }, at) => {
    const longest = rows.slice(0, 60).reduce((most, row) => Math.max(most, Math.min(60, cell(row[at], type).length)), name.length + 1);
    return Math.round(Math.min(420, Math.max(64, longest * 7.3 + 22)));
  });
}

/** The part of the rows that is in view. @param {{current: HTMLDivElement | null}} ref @param {number} total */
function useView(ref, total) {
  const [view, setView] = useState({ first: 0, last: 60 });
  const look = () => {
    const box = ref.current;
    if (!box) return;
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - SPARE);
    const last = Math.ceil((box.scrollTop + box.clientHeight) / ROW) + SPARE;
    setView((before) => (before.first === first && before.last === last ? before : { first, last }));
  };
  useLayoutEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    if (ref.current) observer.observe(ref.current);
    return () => observer.disconnect();
  }, [total]);
  return { ...view, look };
}

/**
 * @param {{
 *   columns: Column[], rows: Value[][], label: string, cursor?: number, opened?: number,
 *   onOpen?: (at: number) => void, onEnd?: () => void, foot?: unknown, headOf?: (column: Column) => unknown,
 * }} props
 */
export function Grid({ columns: all, rows, label, cursor = -1, opened = -1, onOpen, onEnd, foot, headOf }) {
  const ref = useRef(/** @type {HTMLDivElement | null} */ (null));
  const columns = useMemo(() => all.slice(0, MOST_COLUMNS), [all]);
  const { first, last, look } = useView(ref, rows.length);
  const widths = useMemo(() => widthsOf(columns, rows), [columns, rows.length > 0, rows.length > 60]);
  useEffect(() => {
    const box = ref.current;
    if (!box || cursor < 0) return;
    const top = cursor * ROW;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + 3 * ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + 3 * ROW - box.clientHeight;
  }, [cursor]);
  useEffect(() => {
    if (onEnd && last >= rows.length) onEnd();
  }, [last, rows.length]);
  const end = Math.min(last, rows.length);
  const start = Math.min(first, end);
  const total = widths.reduce((sum, width) => sum + width, 0);
  const hasFill = (widths.at(-1) || 0) < 260; // a short last column stays short: what is left stays empty
  return html`<div class="grid-scroll" ref=${ref} onScroll=${look}>
    ${all.length > MOST_COLUMNS ? html`<p class="grid-note warn">The first ${MOST_COLUMNS} of ${count(all.length, "column")} are shown: select fewer to see others.</p>` : null}
    <table class="grid" role="grid" tabindex="0" aria-label=${label} aria-rowcount=${rows.length + 1} style=${{ minWidth: `${total}px` }}
      aria-activedescendant=${cursor >= start && cursor < end ? `grid-row-${cursor}` : undefined}>
      <colgroup>${widths.map((width, at) => html`<col key=${at} style=${at === widths.length - 1 && !hasFill ? {} : { width: `${width}px` }} />`)}${hasFill ? html`<col />` : null}</colgroup>
      <thead><tr>${columns.map((column) => html`<th key=${column.name} scope="col" class=${isNumeric(column.type) ? "num" : ""} title=${column.type}>${headOf ? headOf(column) : column.name}</th>`)}${hasFill ? html`<td class="fill" aria-hidden="true" />` : null}</tr></thead>
      <tbody>
        ${start ? html`<tr aria-hidden="true" class="space"><td colspan=${columns.length + Number(hasFill)} style=${{ height: `${start * ROW}px` }} /></tr>` : null}
        ${rows.slice(start, end).map((row, at) => html`<${Row} key=${start + at} at=${start + at} row=${row} columns=${columns} hasFill=${hasFill}
          isCursor=${start + at === cursor} isOpened=${start + at === opened} onOpen=${onOpen} />`)}
        ${end < rows.length ? html`<tr aria-hidden="true" class="space"><td colspan=${columns.length + Number(hasFill)} style=${{ height: `${(rows.length - end) * ROW}px` }} /></tr>` : null}
      </tbody>
    </table>
    ${foot ? html`<div class="grid-foot">${foot}</div>` : null}
  </div>`;
}

/** @param {{at: number, row: Value[], columns: Column[], hasFill: boolean, isCursor: boolean, isOpened: boolean, onOpen?: (at: number) => void}} props */
function Row({ at, row, columns, hasFill, isCursor, isOpened, onOpen }) {
  const name = [isCursor ? "cursor" : "", isOpened ? "opened" : "", onOpen ? "opens" : ""].filter(Boolean).join(" ");
  return html`<tr id=${`grid-row-${at}`} class=${name} aria-rowindex=${at + 2} aria-selected=${onOpen ? isOpened : undefined} onClick=${onOpen ? () => onOpen(at) : undefined}>
    ${columns.map(({ name: column, type }, index) => {
      const value = row[index];
      if (value === null || value === undefined) return html`<td key=${column} class="null">–</td>`;
      return html`<td key=${column} class=${isNumeric(type) ? "num" : ""}>${cell(value, type)}</td>`;
    })}
    ${hasFill ? html`<td class="fill" aria-hidden="true" />` : null}
  </tr>`;
}
