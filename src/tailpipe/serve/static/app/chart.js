// @ts-check
// An answer as a line, bars, a number or a table.
import { html, uPlot, useState } from "../vendor/core.js";
import { axes, seriesColor, usePlot } from "./chart-parts.js";
import { cell, compact, isNumeric, isTime, moment, number, plain } from "./format.js";
import { Grid } from "./grid.js";

/** @typedef {import("./types.js").Column} Column */
/** @typedef {import("./types.js").Value} Value */
/** @typedef {{columns: Column[], rows: Value[][]}} Answer */

const BARS = 30;

/** The kind that fits an answer best. @param {Answer} answer @returns {import("./types.js").ChartKind} */
export function kindFor({ columns, rows }) {
  if (!columns.some(({ type }) => isNumeric(type))) return "table";
  if (rows.length === 1 && columns.length <= 4) return "number";
  return isTime(columns[0]?.type || "") ? "line" : "bar";
}

/** @param {Answer} answer */
function partsOf({ columns }) {
  const time = columns.findIndex(({ type }) => isTime(type));
  const numbers = columns.flatMap(({ type }, at) => (isNumeric(type) && at !== time ? [at] : []));
  const label = columns.findIndex(({ type }, at) => at !== time && !isNumeric(type));
  return { time, numbers, label };
}

/** @param {{answer: Answer, kind: import("./types.js").ChartKind, height?: number, label: string}} props */
export function Chart({ answer, kind, height = 280, label }) {
  if (!answer.rows.length) return html`<p class="muted note">No rows.</p>`;
  const { numbers, time } = partsOf(answer);
  if (kind === "table") return html`<${Grid} columns=${answer.columns} rows=${answer.rows} label=${label} />`;
  if (!numbers.length) return html`<p class="muted note">A ${kind} needs a column of numbers.</p>`;
  if (kind === "number") return html`<${Numbers} answer=${answer} />`;
  if (kind === "line" && time < 0) return html`<p class="muted note">A line needs a column of times. Select one, for example tp_date.</p>`;
  return kind === "line" ? html`<${Line} answer=${answer} height=${height} label=${label} />` : html`<${Bars} answer=${answer} label=${label} />`;
}

/** @param {{answer: Answer}} props */
function Numbers({ answer }) {
  const { numbers } = partsOf(answer);
  return html`<dl class="numbers">${numbers.slice(0, 4).map((at) => {
    const value = Number(answer.rows[0][at]);
    return html`<div key=${at}><dd title=${plain(answer.rows[0][at])}>${Math.abs(value) < 1e7 ? number(Math.round(value * 100) / 100) : compact(value)}</dd><dt>${answer.columns[at].name}</dt></div>`;
  })}</dl>`;
}

/** Lines by time: one for each column of numbers, or one for each value of a text column. @param {Answer} answer */
function linesOf(answer) {
  const { time, numbers, label } = partsOf(answer);
  const at = (/** @type {Value[]} */ row) => new Date(plain(row[time]).replace(" ", "T").replace(/^(\d{4}-\d\d-\d\d)$/, "$1T00:00:00Z")).getTime() / 1000;
  /** @type {Map<string, Map<number, number>>} */
  const lines = new Map();
  const add = (/** @type {string} */ name, /** @type {number} */ x, /** @type {Value} */ y) => {
    if (!lines.has(name)) lines.set(name, new Map());
    if (y !== null) lines.get(name)?.set(x, Number(y));
  };
  for (const row of answer.rows) {
    if (label >= 0) add(cell(row[label]), at(row), row[numbers[0]]);
    else for (const n of numbers) add(answer.columns[n].name, at(row), row[n]);
  }
  const times = [...new Set(answer.rows.map(at))].filter((x) => !Number.isNaN(x)).sort((one, other) => one - other);
  return { times, lines: [...lines].slice(0, 8) };
}

/** @param {{answer: Answer, height: number, label: string}} props */
function Line({ answer, height, label }) {
  const { times, lines } = linesOf(answer);
  const [pointed, setPointed] = useState(-1);
  const ref = usePlot((width) => ({
    options: {
      width,
      height,
      legend: { show: false },
      padding: [8, 20, 0, 0],
      axes: axes(),
      scales: { y: { range: (_, min, max) => [Math.min(0, min), max * 1.05 || 1] } },
      series: [{}, ...lines.map((_, at) => ({ stroke: seriesColor(at), width: 2, points: { show: times.length < 60, size: 5 } }))],
      cursor: { y: false, drag: { x: false, y: false } },
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      hooks: { setCursor: [(plot) => setPointed(plot.cursor.idx ?? -1)] },
    },
    data: /** @type {uPlot.AlignedData} */ ([times, ...lines.map(([, values]) => times.map((x) => values.get(x) ?? null))]),
  }), [answer, height]);
  const at = times[pointed];
  return html`<figure class="chart"><div class="plot" ref=${ref} role="img" aria-label=${label} />
    <figcaption class="legend">${at === undefined ? null : html`<b>${moment(at * 1000)}</b>`}${lines.map(([name, values], index) => html`<span key=${name}><i class="swatch" style=${{ background: `var(--series-${index + 1})` }} /> ${name}${at === undefined ? "" : ` ${number(values.get(at))}`}</span>`)}</figcaption></figure>`;
}

/** @param {{answer: Answer, label: string}} props */
function Bars({ answer, label }) {
  const { numbers, label: named, time } = partsOf(answer);
  const name = named >= 0 ? named : time >= 0 ? time : 0;
  const value = numbers.find((at) => at !== name) ?? numbers[0];
  const shown = answer.rows.slice(0, BARS).map((row) => ({ name: cell(row[name], answer.columns[name].type) || "(empty)", n: Number(row[value]) || 0 }));
  const most = Math.max(...shown.map(({ n }) => Math.abs(n))) || 1;
  return html`<figure class="chart bars" aria-label=${label}><figcaption class="muted">${answer.columns[value].name} by ${answer.columns[name].name}</figcaption>
    <ol>${shown.map((bar, at) => html`<li key=${at}><span class="bar-name" title=${bar.name}>${bar.name}</span><span class="bar-track"><i style=${{ width: `${(100 * Math.abs(bar.n)) / most}%` }} /></span><span class="bar-value">${number(bar.n)}</span></li>`)}</ol>
    ${answer.rows.length > BARS ? html`<p class="muted note">The first ${BARS} of ${number(answer.rows.length)} rows.</p>` : null}</figure>`;
}
