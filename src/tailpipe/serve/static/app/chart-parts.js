// @ts-check
// What the charts share: colours, axes in UTC, hatching, and a size that follows the page.
import { uPlot, useEffect, useRef } from "../vendor/core.js";
import { amount, compact, pad } from "./format.js";
import { color, theme } from "./theme.js";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
export const SERIES = 8;

/** The colour of a series; more than eight share the last. @param {number} at */
export const seriesColor = (at) => color(`series-${Math.min(at, SERIES - 1) + 1}`);

/** How lines with the same colour differ: in turns of eight. */
export const DASHES = [[], [7, 4], [2, 3]];

/** A number at an axis, in little room. @param {number} at */
export const mark = (at) => (Math.abs(at) < 1 || Math.abs(at) >= 1e15 ? amount(at) : at % 1 ? "" : compact(at));

const LARGEST = 1e300; // beyond it sums of two values are infinite

/** The range of values, with zero in it. @param {uPlot} _ @param {number | null} min @param {number | null} max @returns {[number, number]} */
export function withZero(_, min, max) {
  const [low, high] = [Math.min(0, min ?? 0) * 1.05, Math.max(0, max ?? 0) * 1.05].map((end) => Math.min(Math.max(end, -LARGEST), LARGEST));
  return low === high ? [0, 1] : [low, high];
}

/** @param {number} seconds @param {number} step seconds between two marks */
export function tick(seconds, step) {
  const at = new Date(seconds * 1000);
  const day = `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]}`;
  if (step >= 86_400) return day;
  const clock = `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}`;
  if (step < 60) return `${clock}:${pad(at.getUTCSeconds())}`;
  return clock === "00:00" ? day : clock;
}

const WHOLE = Array.from({ length: 15 }, (_, at) => [1, 2, 5].map((n) => n * 10 ** at)).flat();

/** Axes in the colours of the page; along the bottom times, or numbers. @param {{isCount?: boolean, isClock?: boolean}} [how] @returns {import("../vendor/core.js").uPlot.Axis[]} */
export function axes({ isCount = false, isClock = true } = {}) {
  const common = {
    stroke: color("muted"),
    font: "11px system-ui, sans-serif",
    grid: { stroke: color("line"), width: 1 },
    ticks: { show: false },
  };
  return [
    { ...common, grid: { show: false }, size: 24, gap: 4, space: 64, values: (_, splits, __, ___, step) => splits.map((at) => (isClock ? tick(at, step) : mark(at))) },
    { ...common, ...(isCount ? { incrs: WHOLE } : {}), size: 44, gap: 6, space: 28, values: (_, splits) => splits.map(mark) },
  ];
}

/** Hatch spans of time in which nothing was collected. @param {uPlot} plot @param {{from: number, to: number}[]} spans */
export function hatch(plot, spans) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.strokeStyle = color("hatch");
  ctx.lineWidth = devicePixelRatio;
  for (const { from, to } of spans) {
    const left = plot.valToPos(from, "x", true);
    const right = plot.valToPos(to, "x", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, bbox.top, right - left, bbox.height);
    ctx.clip();
    ctx.beginPath();
    for (let x = left - bbox.height; x < right; x += 6 * devicePixelRatio) {
      ctx.moveTo(x, bbox.top + bbox.height);
      ctx.lineTo(x + bbox.height, bbox.top);
    }
    ctx.stroke();
    ctx.restore();
  }
  ctx.restore();
}

/**
 * Draw a chart into an element, again when its data or the theme change, and in the width that the page gives it.
 * @param {(width: number) => {options: import("../vendor/core.js").uPlot.Options, data: import("../vendor/core.js").uPlot.AlignedData} | null} make
 * @param {unknown[]} deps
 */
export function usePlot(make, deps) {
  const ref = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const made = make(Math.max(element.clientWidth, 120));
    if (!made) return undefined;
    const plot = new uPlot(made.options, made.data, element);
    const observer = new ResizeObserver(() => {
      const width = Math.max(element.clientWidth, 120);
      if (width !== plot.width) plot.setSize({ width, height: plot.height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [...deps, theme.value]);
  return ref;
}
