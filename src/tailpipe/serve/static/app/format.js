// @ts-check
// Numbers, sizes, times and log text as people read them. Times are UTC, as in the tables.

const NUMBER = new Intl.NumberFormat("en-US");
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** @param {number | null | undefined} n */
export const number = (n) => (n === null || n === undefined ? "–" : NUMBER.format(n));
/** @param {number | null | undefined} n */
export const compact = (n) => (n === null || n === undefined ? "–" : COMPACT.format(n));
/** A value with its leading digits, however large or small it is. @param {number | null | undefined} n */
export function amount(n) {
  if (n === null || n === undefined || !n) return number(n);
  const size = Math.abs(n);
  if (size >= 1e15 || size < 1e-4) return n.toExponential(2).replace(/\.?0*e\+?/, "e");
  return size < 1 ? String(Number(n.toPrecision(3))) : NUMBER.format(n);
}
/** @param {number} n @param {string} one @param {string} [many] */
export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** @param {number | null | undefined} n */
export function bytes(n) {
  if (n === null || n === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (n >= 1000 && unit < units.length - 1) {
    n /= 1000;
    unit += 1;
  }
  return `${unit && n < 10 ? n.toFixed(1) : Math.round(n)} ${units[unit]}`;
}

/** @param {number} ms */
export const duration = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** A span in its largest unit. @param {number | null | undefined} seconds */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const units = /** @type {const} */ ([["d", 86_400], ["h", 3_600], ["min", 60]]);
  for (const [unit, size] of units) if (seconds >= size) return `${Math.round(seconds / size)} ${unit}`;
  return `${Math.round(seconds)} s`;
}

/** @param {number} n @param {number} [width] */
export const pad = (n, width = 2) => String(n).padStart(width, "0");

/** `18 Nov 2026, 08:05:40`. @param {string | number | Date} time @param {{seconds?: boolean}} [how] */
export function moment(time, how = {}) {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return String(time);
  const clock = `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}`;
  const date = `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]} ${at.getUTCFullYear()}`;
  return `${date}, ${clock}${how.seconds ? `:${pad(at.getUTCSeconds())}` : ""}`;
}

/** `2 h ago`. @param {string | null} time @param {number} now */
export function ago(time, now) {
  if (!time) return "–";
  const seconds = (now - new Date(time).getTime()) / 1000;
  return seconds < 0 ? moment(time) : seconds < 10 ? "just now" : `${span(seconds)} ago`;
}

/** A time of a row, to the millisecond where it has any. @param {string} text */
export function stamp(text) {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?/.exec(text);
  if (!match) return text;
  const fraction = (match[3] || "").slice(0, 3);
  return `${match[1]} ${match[2]}${fraction && Number(fraction) ? `.${fraction.padEnd(3, "0")}` : ""}`;
}

// Characters that hide, reorder or steer text: they are shown by name, so that no log line can pretend to be another.
const STEERING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Log text with its control characters made visible; tabs and line breaks stay. @param {string} text */
export function visible(text) {
  return text.replace(STEERING, (char) => {
    const code = char.codePointAt(0) || 0;
    return char === "\t" || char === "\n" ? char : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** The beginning of a text, without half of a character. @param {string} text @param {number} length */
export const beginning = (text, length) => text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");

/** A value that the server truncated, or null. @param {unknown} value @returns {{text: string, length: number} | null} */
export function cutValue(value) {
  if (!value || typeof value !== "object" || Array.isArray(value)) return null;
  const { truncated, text, length } = /** @type {any} */ (value);
  return truncated === true && typeof text === "string" && typeof length === "number" ? { text, length } : null;
}

/** What an object has under a name: nothing that all objects have, such as `constructor`. @template T @param {Record<string, T> | null | undefined} from @param {string} name @returns {T | undefined} */
export const own = (from, name) => (from && Object.hasOwn(from, name) ? from[name] : undefined);

/** The whole text of a value, as it would be copied. @param {unknown} value @returns {string} */
export function plain(value) {
  if (value === null || value === undefined) return "";
  const cut = cutValue(value);
  if (cut) return cut.text;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** One line for a cell: short, with line breaks marked. @param {unknown} value @param {string} [type] */
export function cell(value, type = "") {
  const whole = plain(value);
  const text = visible(beginning(whole, 400).replace(/\r?\n/g, " ⏎ "));
  if (/^timestamp/i.test(type)) return stamp(text);
  return whole.length > 400 ? `${text} …` : text;
}

/** @param {string} type */
export const isNumeric = (type) => /^(u?(tiny|small|big|huge)?int(eger)?|float|double|real|bignum|(decimal|numeric)(\(\d+, ?\d+\))?)$/i.test(type);
/** @param {string} type */
export const isTime = (type) => /^(timestamp|date$)/i.test(type);
