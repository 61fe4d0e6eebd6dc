// @ts-check
// Rows over time: drag to zoom, colour by a field, days without collection hatched.
import { html, uPlot, useState } from "../vendor/core.js";
import { axes, hatch, seriesColor, usePlot } from "./chart-parts.js";
import { busy, fields, histogram, params } from "./explore-state.js";
import { cell, count, moment, number, own, span } from "./format.js";
import { Icon } from "./icons.js";
import { change } from "./route.js";
import { fieldName, withTerm } from "./query.js";
import { between, iso, moved } from "./time.js";

const HEIGHT = 120;
/** @typedef {import("./types.js").Histogram} Histogram */
/** @typedef {{at: number, left: number}} Pointed */

/** @param {string} time */
const seconds = (time) => new Date(time).getTime() / 1000;

/** Whether some rows have none of the colours. @param {Histogram} shown */
const hasOther = (shown) => shown.colors.length > 0 && shown.buckets.some(({ n, by }) => n > Object.values(by || {}).reduce((sum, one) => sum + one, 0));
/** Colours in the order of the layers; other values are grey. @param {Histogram} shown @param {number} at */
const layerColor = (shown, at) => seriesColor(shown.colors.length && at >= shown.colors.length ? 7 : at);

/** Counts as columns, one for each colour, each upon those before. @param {Histogram} shown @returns {number[][]} */
function stacked(shown) {
  const all = shown.buckets.map(({ n }) => n);
  const sums = shown.buckets.map(() => 0);
  const layers = shown.colors.map((value) => shown.buckets.map(({ by }, at) => (sums[at] += own(by, value) || 0)));
  return hasOther(shown) || !layers.length ? [...layers, all] : layers;
}

/** @param {Histogram} shown @param {number} width @param {(pointed: Pointed | null) => void} point */
function plotOf(shown, width, point) {
  const layers = stacked(shown).reverse();
  const bars = uPlot.paths.bars?.({ size: [0.9, Infinity, 1], align: 1, gap: 1 });
  const missing = shown.missing.map(({ from, to }) => ({ from: seconds(from), to: seconds(to) }));
  /** @type {uPlot.Options} */
  const options = {
    width,
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 20, 0, 0],
    axes: axes({ isCount: true }),
    scales: { x: { time: true, range: () => [seconds(shown.from), seconds(shown.to)] }, y: { range: (_, __, max) => [0, Math.max(1, max * 1.05)] } },
    series: [{}, ...layers.map((_, at) => ({ paths: bars, points: { show: false }, fill: layerColor(shown, layers.length - 1 - at), stroke: "transparent", width: 0 }))],
    cursor: { x: true, y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
    hooks: {
      drawClear: [(plot) => hatch(plot, missing)],
      setCursor: [(plot) => point(plot.cursor.idx == null || (plot.cursor.left ?? -1) < 0 ? null : { at: plot.cursor.idx, left: plot.cursor.left ?? 0 })],
      setSelect: [(plot) => brushed(plot)],
    },
  };
  const times = shown.buckets.map(({ t }) => seconds(t));
  return { options, data: /** @type {uPlot.AlignedData} */ ([times, ...layers]) };
}

/** Zoom to what was dragged over. @param {uPlot} plot */
function brushed(plot) {
  const { left, width } = plot.select;
  if (width < 4) return;
  const from = Math.floor(plot.posToVal(left, "x"));
  const to = Math.ceil(plot.posToVal(left + width, "x"));
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  change({ from: iso(from * 1000), to: iso(to * 1000), last: null });
}

/** @param {{shown: Histogram, pointed: Pointed}} props */
function Tip({ shown, pointed }) {
  const bucket = shown.buckets[pointed.at];
  if (!bucket) return null;
  const parts = shown.colors.map((value, at) => ({ value, at, n: own(bucket.by, value) || 0 })).filter(({ n }) => n);
  return html`<div class="tip" style=${{ left: `${pointed.left + 44}px` }} aria-hidden="true">
    <b>${moment(bucket.t, { seconds: shown.step_seconds < 60 })}</b><span>${count(bucket.n, "row")}</span>
    ${parts.map(({ value, at, n }) => html`<span key=${value}><${Swatch} at=${at} /> ${cell(value)} ${number(n)}</span>`)}
  </div>`;
}

/** @param {{at: number}} props */
const Swatch = ({ at }) => html`<i class="swatch" style=${{ background: `var(--series-${Math.min(at, 7) + 1})` }} />`;

/** @param {{shown: Histogram}} props */
function Plot({ shown }) {
  const [pointed, setPointed] = useState(/** @type {Pointed | null} */ (null));
  const ref = usePlot((width) => plotOf(shown, width, setPointed), [shown]);
  const label = `${count(shown.total, "row")} over time, ${between(shown.from, shown.to)}`;
  return html`<div class="plot-area"><div class="plot" ref=${ref} role="img" aria-label=${label} />
    ${pointed ? html`<${Tip} shown=${shown} pointed=${pointed} />` : null}</div>`;
}

/** @param {{shown: Histogram}} props */
function Legend({ shown }) {
  const field = params.value.color;
  if (!field || !shown.colors.length) return null;
  const filter = (/** @type {MouseEvent} */ event, /** @type {string} */ value) =>
    change({ q: withTerm(params.value.q || "", fieldName(field), value, event.altKey) });
  return html`<div class="legend">${shown.colors.map((value, at) => html`<button key=${value} class="ghost small" title="Click to filter, Alt-click to exclude" onClick=${(/** @type {MouseEvent} */ event) => filter(event, value)}><${Swatch} at=${at} /> ${cell(value) || "(empty)"}</button>`)}
    ${hasOther(shown) ? html`<span><${Swatch} at=${7} /> other</span>` : null}</div>`;
}

function ColorPicker() {
  const choices = fields.value.filter(({ facet, name }) => facet || name === params.value.color).slice(0, 300);
  return html`<label class="inline">Colour by <select value=${params.value.color || ""} onChange=${(/** @type {any} */ event) => change({ color: event.target.value }, { replace: true })}>
    <option value="">nothing</option>${choices.map(({ name }) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>`;
}

/** Zoom and move without a mouse. @param {{shown: Histogram}} props */
function Moves({ shown }) {
  const go = (/** @type {number} */ by, grow = 1) => () => change({ ...moved(shown.from, shown.to, by, grow), last: null });
  return html`<div class="moves" role="group" aria-label="Move the window">
    <button class="ghost square small" title="Earlier" aria-label="Earlier" onClick=${go(-1)}><${Icon} name="left" size=${14} /></button>
    <button class="ghost square small" title="Zoom out" aria-label="Zoom out" onClick=${go(0, 3)}><${Icon} name="minus" size=${14} /></button>
    <button class="ghost square small" title="Zoom in" aria-label="Zoom in" onClick=${go(0, 1 / 3)}><${Icon} name="plus" size=${14} /></button>
    <button class="ghost square small" title="Later" aria-label="Later" onClick=${go(1)}><${Icon} name="right" size=${14} /></button>
  </div>`;
}

export function HistogramCard() {
  const shown = histogram.value;
  const gap = (shown?.missing || []).reduce((sum, { from, to }) => sum + seconds(to) - seconds(from), 0);
  const days = gap ? ` · ${span(gap)} not collected` : "";
  return html`<section class="histogram" aria-label="Histogram">
    <header>
      <p><b>${shown ? count(shown.total, "row") : busy.value.histogram ? "…" : "–"}</b> <span class="muted">${shown ? between(shown.from, shown.to) : ""}${days}</span></p>
      <${ColorPicker} />
      ${shown ? html`<${Moves} shown=${shown} />` : null}
    </header>
    <div class=${busy.value.histogram ? "plot-box stale" : "plot-box"}>${shown ? html`<${Plot} shown=${shown} />` : null}</div>
    ${shown ? html`<${Legend} shown=${shown} />` : null}
  </section>`;
}
