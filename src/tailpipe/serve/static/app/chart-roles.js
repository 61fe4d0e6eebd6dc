// @ts-check
// Which columns of an answer a chart draws: along its axis, as values, and as series. Nothing here draws.
import { isNumeric, isTime } from "./format.js";

/** @typedef {import("./types.js").Column} Column */
/** @typedef {import("./types.js").Value} Value */
/** @typedef {{columns: Column[], rows: Value[][]}} Answer */
/** @typedef {{x?: string, y?: string, series?: string}} Choice  columns by their token; without one, the usual column */
/** @typedef {{x: number, ys: number[], series: number}} Roles  columns by position; -1 is none */
/** @typedef {"line" | "bar"} Kind */

const MOST_CHOICES = 300;
export const NONE = "-"; // as y: all numbers; as series: no column

/** What the address calls a column: its name, and never `NONE`. @param {string} name */
export const token = (name) => (name.startsWith(NONE) ? NONE + name : name);

/** @param {Column[]} columns */
const numbersOf = (columns) => columns.flatMap(({ type }, at) => (isNumeric(type) ? [at] : []));

/** The columns that can be chosen for each role. @param {Column[]} columns @param {Kind} kind @param {Roles} roles */
export function choicesOf(columns, kind, roles) {
  const all = columns.map((_, at) => at);
  const axis = kind === "bar" ? all : all.filter((at) => isTime(columns[at].type) || isNumeric(columns[at].type));
  return {
    xs: axis.length > 1 ? axis.slice(0, MOST_CHOICES) : [],
    ys: numbersOf(columns).filter((at) => at !== roles.x).slice(0, MOST_CHOICES),
    series: all.filter((at) => at !== roles.x && !(roles.ys.length === 1 && roles.ys[0] === at)).slice(0, MOST_CHOICES),
  };
}

/** The axis: the first time of a line, the first label of bars, or else a number beside the values; -1 if there is none. @param {Column[]} columns @param {Kind} kind @param {number} y the chosen values, or -1 */
function usualAxis(columns, kind, y) {
  const label = columns.findIndex(({ type }) => (kind === "line" ? isTime(type) : !isNumeric(type)));
  const numbers = numbersOf(columns);
  return label < 0 && numbers.length > 1 ? (numbers.find((at) => at !== y) ?? -1) : label;
}

/** Whether two rows have the same values in some columns. @param {Value[][]} rows @param {number[]} ats */
function isRepeated(rows, ats) {
  return new Set(rows.map((row) => JSON.stringify(ats.map((at) => row[at] ?? null)))).size < rows.length;
}

/**
 * The roles of columns. A column beside a repeated time or label is a series, whatever its type: the first that tells the
 * rows apart, text before numbers. The last number is then the value; otherwise each number is a series of its own.
 * @param {Answer} answer @param {Kind} kind @param {Choice} [choice] @returns {Roles}
 */
export function rolesOf({ columns, rows }, kind, choice = {}) {
  const find = (/** @type {number[]} */ among, /** @type {string | undefined} */ wanted) => among.find((at) => token(columns[at].name) === wanted) ?? -1;
  const all = columns.map((_, at) => at);
  const numbers = numbersOf(columns);
  const wanted = find(numbers, choice.y);
  const given = find(kind === "bar" ? all : all.filter((at) => isTime(columns[at].type) || numbers.includes(at)), choice.x);
  const x = given >= 0 ? given : usualAxis(columns, kind, wanted);
  const values = numbers.filter((at) => at !== x);
  const y = wanted === x ? -1 : wanted;
  const series = seriesOf();
  const left = values.filter((at) => at !== series);
  if (series >= 0) return { x, ys: y >= 0 && y !== series ? [y] : left.slice(-1), series };
  return { x, ys: y >= 0 ? [y] : values, series };

  function seriesOf() {
    const value = y >= 0 ? y : (values.at(-1) ?? -1);
    const beside = all.filter((at) => at !== x);
    const chosen = find(beside, choice.series);
    if (chosen >= 0) return chosen;
    if (choice.series === NONE || choice.y === NONE || x < 0 || !isRepeated(rows, [x])) return -1;
    const others = beside.filter((at) => at !== value);
    const ordered = [...others.filter((at) => !numbers.includes(at)), ...others.filter((at) => numbers.includes(at))];
    return ordered.find((at) => !isRepeated(rows, [x, at])) ?? ordered[0] ?? -1;
  }
}
