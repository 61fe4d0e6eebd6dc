// @ts-check
// Time windows: presets, what the address holds, and what people type.
import { moment } from "./format.js";

/** @typedef {{name: string, label: string, seconds: number | null}} Preset */

/** @type {Preset[]} */
export const PRESETS = [
  { name: "15m", label: "Last 15 minutes", seconds: 900 },
  { name: "1h", label: "Last hour", seconds: 3_600 },
  { name: "6h", label: "Last 6 hours", seconds: 21_600 },
  { name: "24h", label: "Last 24 hours", seconds: 86_400 },
  { name: "7d", label: "Last 7 days", seconds: 604_800 },
  { name: "30d", label: "Last 30 days", seconds: 2_592_000 },
  { name: "all", label: "All data", seconds: null },
];

/** @param {number | Date} time */
export const iso = (time) => new Date(time).toISOString().replace(/\.000Z$/, "Z");

/**
 * The window that the address asks for; both null is the newest day that has data.
 * @param {Record<string, string>} params @param {{first: string | null, last: string | null}} bounds @param {number} now
 * @returns {{from: string | null, to: string | null}}
 */
export function windowOf(params, bounds, now) {
  const preset = PRESETS.find((one) => one.name === params.last);
  const minute = Math.ceil(now / 60_000) * 60_000; // the same for a while, so that the server can answer from its cache
  if (preset && preset.seconds !== null) return { from: iso(minute - preset.seconds * 1000), to: iso(minute) };
  if (preset) return { from: bounds.first, to: bounds.last && iso(new Date(bounds.last).getTime() + 1000) };
  return { from: params.from || null, to: params.to || null };
}

/** What the button of the window says. @param {Record<string, string>} params */
export function labelOf(params) {
  const preset = PRESETS.find((one) => one.name === params.last);
  if (preset) return preset.label;
  if (params.from || params.to) return between(params.from, params.to);
  return "Newest day";
}

/** @param {string | null | undefined} from @param {string | null | undefined} to */
export function between(from, to) {
  if (!from) return `until ${moment(to || "")}`;
  if (!to) return `since ${moment(from)}`;
  const one = moment(from, { seconds: !from.includes(":00Z") });
  const other = moment(to, { seconds: !to.includes(":00Z") });
  const sameDay = one.split(",")[0] === other.split(",")[0];
  return `${one} – ${sameDay ? other.split(", ")[1] : other}`;
}

/** What somebody typed as a time in UTC: `2026-11-18`, `2026-11-18 08:05`. @param {string} text @returns {string | null} */
export function parseTime(text) {
  const match = /^\s*(\d{4})-(\d\d?)-(\d\d?)(?:[T ,]+(\d\d?):(\d\d)(?::(\d\d)(\.\d+)?)?)?\s*Z?\s*$/.exec(text);
  if (!match) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part || 0));
  const at = new Date(Date.UTC(year, month - 1, day, hour, minute, second));
  const isReal = at.getUTCMonth() === month - 1 && at.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  return isReal ? iso(at) : null;
}

/** The text of a time as people type it. @param {string | null | undefined} time */
export const typed = (time) => (time ? iso(new Date(time)).replace("T", " ").replace(/(\.\d+)?Z$/, "") : "");

/** Shift or widen a window around its middle. @param {string} from @param {string} to @param {number} by @param {number} [grow] */
export function moved(from, to, by, grow = 1) {
  const start = new Date(from).getTime();
  const length = new Date(to).getTime() - start;
  const middle = start + length / 2 + by * length;
  return { from: iso(Math.round(middle - (length * grow) / 2)), to: iso(Math.round(middle + (length * grow) / 2)) };
}
