// @ts-check
// Icons: strokes on a grid of 16.
import { html } from "../vendor/core.js";

const PATHS = /** @type {const} */ ({
  explore: "M7 12.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM11 11l3.5 3.5",
  sql: "M2.5 3.5h11v9h-11zM5 6.5 6.8 8 5 9.5M8.5 9.8h2.5",
  dashboards: "M2.5 2.5h4.5v6H2.5zM9 2.5h4.5v3.5H9zM9 8h4.5v5.5H9zM2.5 10.5H7v3H2.5z",
  hits: "M8 1.8 13.5 4v4c0 3.2-2.3 5.3-5.5 6.3C4.8 13.3 2.5 11.2 2.5 8V4L8 1.8ZM8 5v3.5M8 10.6v.1",
  status: "M1.5 8.5h3L6.5 3.5l3 9 2-4h3",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z",
  help: "M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM6.2 6.2A1.9 1.9 0 1 1 8.8 8c-.6.3-.8.6-.8 1.2M8 11.4v.1",
  plus: "M8 3.5v9M3.5 8h9",
  minus: "M3.5 8h9",
  column: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  copy: "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1",
  close: "M4 4l8 8M12 4l-8 8",
  play: "M4.5 2.8v10.4L13 8z",
  stop: "M4 4h8v8H4z",
  clock: "M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12ZM8 4.8V8l2.2 1.5",
  table: "M2 3h12v10H2zM2 6.5h12M2 9.8h12M6 6.5V13",
  chart: "M2.5 13.5h11M4.5 11V7.5M8 11V3.5M11.5 11V6",
  down: "M4 6.5 8 10.5l4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4 6 8l4 4",
  out: "M7 12.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM11 11l3.5 3.5M4.5 7h5",
  download: "M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11",
  save: "M3 2.5h8l2.5 2.5v8.5H3zM5.5 2.5V6h4.5V2.5M5 13.5V9.5h6v4",
  history: "M2.5 8A5.5 5.5 0 1 0 4.2 4M2.5 2.5V5h2.6M8 5v3.2l2 1.3",
  link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a3 3 0 0 1 4.3 4.3L11.2 8.8M9 11.5 7.5 13a3 3 0 0 1-4.3-4.3L4.8 7.2",
  check: "M3 8.5 6.5 12 13 4.5",
  target: "M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  refresh: "M13.5 8A5.5 5.5 0 1 1 11.8 4M13.5 2.5V5h-2.6",
  wrap: "M2.5 4h11M2.5 8h9a2 2 0 0 1 0 4H8M9.5 10.5 8 12l1.5 1.5M2.5 12h3",
});

/** @typedef {keyof typeof PATHS} IconName */

/** @param {{name: IconName, size?: number}} props */
export function Icon({ name, size = 16 }) {
  return html`<svg class="icon" width=${size} height=${size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d=${PATHS[name]} />
  </svg>`;
}
