// @ts-check
// The points of a chart, of an answer whose columns have roles, and what the reader must know about them. Nothing here draws.
import { cell, count, number, plain } from "./format.js";

/** @typedef {import("./types.js").Value} Value */
/** @typedef {import("./chart-roles.js").Answer} Answer */
/** @typedef {import("./chart-roles.js").Roles} Roles */
/** @typedef {{name: string, total: number, points: {row: number, value: number | null, text: string}[]}} Series */
/** @typedef {{name: string, bars: {series: number, value: number | null, text: string}[]}} Group */

export const MOST_SERIES = 20;
export const MOST_GROUPS = 30;

/** A value as a number: null if it has none, undefined if it cannot be drawn. @param {Value} value */
export function valueOf(value) {
  if (value === null || value === undefined) return null;
  const found = typeof value === "string" && !value.trim() ? NaN : Number(value);
  return Number.isFinite(found) ? found : undefined;
}

/** A label; the empty text and null have one, too. @param {Value} value @param {string} [type] */
export function labelOf(value, type) {
  if (value === null || value === undefined) return "(null)";
  return cell(value, type) || "(empty)";
}

/** Where a value is on the axis: a number, or a time in seconds. @param {Value} value @param {boolean} isTime */
export function positionOf(value, isTime) {
  if (!isTime) return valueOf(value) ?? undefined;
  const text = plain(value).replace(" ", "T");
  const at = new Date(/T/.test(text) && !/(Z|[+-]\d\d(:?\d\d)?)$/.test(text) ? `${text}Z` : text).getTime();
  return Number.isNaN(at) ? undefined : at / 1000;
}

/**
 * The series of an answer, by name, so that each has the same colour in every run; of too many, those with the largest totals.
 * @param {Answer} answer @param {Roles} roles
 */
export function seriesOf({ columns, rows }, { ys, series }) {
  /** @type {Map<string, Series>} */
  const found = new Map();
  let odd = 0;
  rows.forEach((row, at) => {
    for (const y of ys) {
      const key = series < 0 ? String(y) : JSON.stringify(row[series] ?? null);
      const name = () => (series < 0 ? cell(columns[y].name) : labelOf(row[series], columns[series].type));
      const one = found.get(key) ?? { name: name(), total: 0, points: [] };
      const value = valueOf(row[y]);
      if (value === undefined) odd += 1;
      one.points.push({ row: at, value: value ?? null, text: plain(row[y]) });
      one.total += Math.abs(value ?? 0);
      found.set(key, one);
    }
  });
  const all = [...found.values()];
  if (series >= 0) all.sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }));
  const largest = new Set([...all].sort((one, other) => other.total - one.total).slice(0, MOST_SERIES));
  return { series: all.filter((one) => largest.has(one)), left: all.filter((one) => !largest.has(one)), odd };
}

/**
 * Lines over times or numbers. An x that a line has twice is there twice. Undefined is a point that a line does not have,
 * over which it goes on; null is a value that is missing, and a gap.
 * @param {Answer} answer @param {Roles} roles @param {Series[]} series @param {boolean} isTime
 */
export function linesOf({ rows }, { x }, series, isTime) {
  const places = rows.map((row) => positionOf(row[x], isTime));
  const known = series.map(({ points }) => {
    /** @type {Map<number, (number | null)[]>} */
    const values = new Map();
    for (const { row, value } of points) {
      const at = places[row];
      if (at === undefined) continue;
      if (!values.has(at)) values.set(at, []);
      values.get(at)?.push(value);
    }
    return values;
  });
  const distinct = [...new Set(known.flatMap((values) => [...values.keys()]))].sort((one, other) => one - other);
  const widths = distinct.map((at) => Math.max(...known.map((values) => values.get(at)?.length ?? 0)));
  const slots = distinct.flatMap((at, nth) => Array.from({ length: widths[nth] }, (_, slot) => ({ at, slot })));
  return {
    xs: slots.map(({ at }) => at),
    lines: known.map((values) => slots.map(({ at, slot }) => values.get(at)?.[slot])),
    repeated: widths.filter((width) => width > 1).length,
    lost: places.filter((at) => at === undefined).length,
  };
}

/** The points of a line that have no neighbour to be joined to. @param {(number | null | undefined)[]} values */
export function lonely(values) {
  const at = values.flatMap((value, index) => (value === undefined ? [] : [index]));
  return at.filter((index, nth) => values[index] !== null && values[at[nth - 1]] == null && values[at[nth + 1]] == null);
}

/**
 * Bars in groups: one for each value of the axis in the order of the answer, or for each row if there is no axis. What a
 * series has again begins a group of the same name.
 * @param {Answer} answer @param {Roles} roles @param {Series[]} series
 */
export function groupsOf({ columns, rows }, { x }, series) {
  /** @type {Map<string, Group>} */
  const groups = new Map();
  /** @type {Map<string, number>} */
  const seen = new Map();
  let repeated = 0;
  const bars = series.flatMap(({ points }, at) => points.map((point) => ({ ...point, series: at })));
  for (const { row, value, text, series: at } of bars.sort((one, other) => one.row - other.row)) {
    const place = x < 0 ? String(row) : JSON.stringify(rows[row][x] ?? null);
    const times = seen.get(`${at} ${place}`) ?? 0;
    seen.set(`${at} ${place}`, times + 1);
    if (times) repeated += 1;
    const key = `${times} ${place}`;
    const group = groups.get(key) ?? { name: x < 0 ? `row ${number(row + 1)}` : labelOf(rows[row][x], columns[x].type), bars: [] };
    group.bars.push({ series: at, value, text });
    groups.set(key, group);
  }
  const all = [...groups.values()];
  for (const { bars: own } of all) own.sort((one, other) => one.series - other.series);
  return { groups: all.slice(0, MOST_GROUPS), total: all.length, repeated };
}

/**
 * What a chart does not show, or shows otherwise than its reader may think.
 * @param {Answer} answer @param {Roles} roles
 * @param {{left: Series[], odd: number, repeated: number, lost?: number, groups?: number, cut?: string}} found
 */
export function notesOf({ columns, rows }, { x, ys, series }, { left, odd, repeated, lost = 0, groups = 0, cut = "" }) {
  const name = (/** @type {number} */ at) => cell(columns[at].name);
  const same = [x, series].filter((at) => at >= 0).map(name).join(" and ");
  const total = left.reduce((sum, one) => sum + one.total, 0);
  const kind = series >= 0 ? `values of ${name(series)}` : "columns";
  return [
    cut && `${cut}: only ${count(rows.length, "row")} ${rows.length === 1 ? "is" : "are"} drawn.`,
    left.length && `The ${MOST_SERIES} largest of ${number(left.length + MOST_SERIES)} ${kind} are drawn. Not drawn: ${number(left.length)}, with a total of ${number(total)}.`,
    groups > MOST_GROUPS && `The first ${MOST_GROUPS} of ${x < 0 ? count(groups, "row") : `${number(groups)} values of ${name(x)}`} are drawn.`,
    repeated && `Several rows have the same ${same}: each is drawn. Choose another series, or group the rows in SQL.`,
    lost && `${count(lost, "row")} without a valid ${name(x)} ${lost === 1 ? "is" : "are"} not drawn.`,
    odd && `${count(odd, "value")} of ${ys.length > 5 ? count(ys.length, "column") : ys.map(name).join(", ")} ${odd === 1 ? "is not a finite number and is" : "are not finite numbers and are"} not drawn.`,
  ].filter((note) => typeof note === "string" && note);
}
