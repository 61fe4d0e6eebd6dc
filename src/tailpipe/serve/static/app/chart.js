// @ts-check
// An answer as a line, bars, a number or a table.
import { html, uPlot, useMemo, useState } from "../vendor/core.js";
import { groupsOf, linesOf, lonely, notesOf, seriesOf, valueOf } from "./chart-data.js";
import { DASHES, SERIES, axes, seriesColor, usePlot, withZero } from "./chart-parts.js";
import { rolesOf } from "./chart-roles.js";
import { amount, cell, compact, count, isNumeric, isTime, moment } from "./format.js";
import { Grid } from "./grid.js";

/** @typedef {import("./types.js").ChartKind} ChartKind */
/** @typedef {import("./chart-roles.js").Answer} Answer */
/** @typedef {import("./chart-roles.js").Roles} Roles */

/** The kind that fits an answer best. @param {Answer} answer @returns {ChartKind} */
export function kindFor({ columns, rows }) {
  if (!columns.some(({ type }) => isNumeric(type))) return "table";
  if (rows.length === 1 && columns.length <= 4) return "number";
  return isTime(columns[0]?.type || "") ? "line" : "bar";
}

/**
 * `cut` says why the answer has not all rows.
 * @param {{answer: Answer, kind: ChartKind, height?: number, label: string, choice?: import("./chart-roles.js").Choice, cut?: string}} props
 */
export function Chart({ answer, kind, height = 280, label, choice, cut = "" }) {
  if (!answer.rows.length) return html`<p class="muted note">No rows.</p>`;
  if (kind === "table") return html`<${Grid} columns=${answer.columns} rows=${answer.rows} label=${label} />`;
  if (!answer.columns.some(({ type }) => isNumeric(type))) return html`<p class="muted note">A ${kind} needs a column of numbers.</p>`;
  if (kind === "number") return html`<${Numbers} answer=${answer} />`;
  const roles = rolesOf(answer, kind, choice);
  if (!roles.ys.length) return html`<p class="muted note">A ${kind} needs a column of numbers beside ${cell(answer.columns[roles.x].name)}.</p>`;
  if (kind === "line" && roles.x < 0) return html`<p class="muted note">A line needs a column of times, or a second column of numbers. Select one, for example tp_date.</p>`;
  return kind === "line" ? html`<${Line} answer=${answer} roles=${roles} height=${height} label=${label} cut=${cut} />` : html`<${Bars} answer=${answer} roles=${roles} label=${label} cut=${cut} />`;
}

/** @param {{notes: string[]}} props */
const Notes = ({ notes }) => html`<div class="chart-notes" role="status">${notes.map((note) => html`<p key=${note} class="note">${note}</p>`)}</div>`;

/** What is drawn, in words. @param {Answer} answer @param {Roles} roles */
function titleOf({ columns }, { x, ys, series }) {
  const name = (/** @type {number} */ at) => cell(columns[at].name);
  const values = ys.length > 5 ? count(ys.length, "column") : ys.map(name).join(", ");
  return `${values}${x >= 0 ? ` by ${name(x)}` : ""}${series >= 0 ? `${x >= 0 ? " and" : " by"} ${name(series)}` : ""}`;
}

/** @param {{answer: Answer}} props */
function Numbers({ answer }) {
  const shown = answer.columns.flatMap(({ name, type }, at) => (isNumeric(type) ? [{ name: cell(name), value: answer.rows[0][at] }] : []));
  const text = (/** @type {number | null} */ value) => (value !== null && Math.abs(value) >= 1e7 && Math.abs(value) < 1e15 ? compact(value) : amount(value));
  const notes = [shown.length > 4 && `The first 4 of ${shown.length} numbers.`, answer.rows.length > 1 && `The first of ${count(answer.rows.length, "row")}.`];
  return html`<dl class="numbers">${shown.slice(0, 4).map(({ name, value }, at) => {
    const found = valueOf(value);
    return html`<div key=${at}><dd title=${cell(value)}>${found === undefined ? cell(value) : text(found && Math.abs(found) >= 1 ? Math.round(found * 100) / 100 : found)}</dd><dt>${name}</dt></div>`;
  })}</dl><${Notes} notes=${notes.filter(Boolean)} />`;
}

/** @param {{answer: Answer, roles: Roles, height: number, label: string, cut: string}} props */
function Line({ answer, roles, height, label, cut }) {
  const [pointed, setPointed] = useState(-1);
  const isClock = isTime(answer.columns[roles.x].type);
  const key = JSON.stringify(roles);
  const { series, left, odd, xs, lines, repeated, lost } = useMemo(() => {
    const found = seriesOf(answer, roles);
    return { ...found, ...linesOf(answer, roles, found.series, isClock) };
  }, [answer, key]);
  const ref = usePlot((width) => ({
    options: {
      width,
      height,
      legend: { show: false },
      padding: [8, 20, 0, 0],
      axes: axes({ isClock }),
      scales: { x: { time: isClock }, y: { range: withZero } },
      series: [{}, ...lines.map((values, at) => ({
        stroke: seriesColor(at % SERIES),
        width: 2,
        dash: DASHES[Math.floor(at / SERIES) % DASHES.length],
        points: { show: true, size: 5, filter: xs.length < 60 ? undefined : () => lonely(values) },
      }))],
      cursor: { y: false, drag: { x: false, y: false } },
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      hooks: { setCursor: [(plot) => setPointed(plot.cursor.idx ?? -1)] },
    },
    data: /** @type {uPlot.AlignedData} */ ([xs, ...lines]),
  }), [answer, height, key]);
  const at = xs[pointed];
  return html`<figure class="chart"><div class="plot" ref=${ref} role="img" aria-label=${`${label}: ${titleOf(answer, roles)}`} />
    <figcaption class="legend">${at === undefined ? null : html`<b>${isClock ? moment(at * 1000) : amount(at)}</b>`}${series.map(({ name }, index) => html`<span key=${index}><${Swatch} at=${index} /> <bdi>${name}</bdi>${at === undefined ? "" : ` ${amount(lines[index][pointed])}`}</span>`)}</figcaption>
    <${Notes} notes=${notesOf(answer, roles, { left, odd, repeated, lost, cut })} /></figure>`;
}

/** The colour of a line, dashed as the line is. @param {{at: number}} props */
function Swatch({ at }) {
  const [on, off] = DASHES[Math.floor(at / SERIES) % DASHES.length];
  const paint = `var(--series-${(at % SERIES) + 1})`;
  return html`<i class=${on ? "swatch long" : "swatch"} style=${{ background: on ? `repeating-linear-gradient(90deg, ${paint} 0 ${on}px, transparent 0 ${on + off}px)` : paint }} />`;
}

/** @param {{answer: Answer, roles: Roles, label: string, cut: string}} props */
function Bars({ answer, roles, label, cut }) {
  const { series, left, odd, groups, total, repeated } = useMemo(() => {
    const found = seriesOf(answer, roles);
    return { ...found, ...groupsOf(answer, roles, found.series) };
  }, [answer, JSON.stringify(roles)]);
  const values = groups.flatMap(({ bars }) => bars.map(({ value }) => value ?? 0));
  const low = Math.min(0, ...values);
  const most = Math.max(0, ...values) - low || 1;
  const share = (/** @type {number} */ value) => `${(100 * Math.abs(value)) / most}%`;
  const isGrouped = series.length > 1;
  return html`<figure class="chart bars" aria-label=${label}><figcaption class="muted">${titleOf(answer, roles)}</figcaption>
    <ol>${groups.map((group, nth) => html`<li key=${nth}>${isGrouped ? html`<b class="bar-name" title=${group.name}>${group.name}</b>` : null}
      <ol>${group.bars.map(({ series: at, value, text }) => {
        const name = isGrouped ? series[at].name : group.name;
        return html`<li key=${at} class="bar"><span class="bar-name" title=${name}>${name}</span><span class="bar-track">${value === null ? null : html`<i style=${{ width: share(value), marginLeft: share(Math.min(value, 0) - low), background: `var(--series-${(at % SERIES) + 1})` }} />`}</span><span class="bar-value" title=${cell(text)}>${amount(value)}</span></li>`;
      })}</ol></li>`)}</ol>
    <${Notes} notes=${notesOf(answer, roles, { left, odd, repeated, groups: total, cut })} /></figure>`;
}
