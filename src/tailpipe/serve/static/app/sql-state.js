// @ts-check
// The SQL page: its text, what runs, and what ran before.
import { signal } from "../vendor/core.js";
import { ApiError, isAbort, stream } from "./api.js";
import { own } from "./format.js";
import { meta } from "./meta.js";
import { navigate, route } from "./route.js";

/** @typedef {import("./types.js").Value} Value */
/**
 * @typedef {{
 *   sql: string, columns: import("./types.js").Column[], rows: Value[][], error: unknown, isStopped: boolean,
 *   end: {rows: number, truncated: boolean, reason?: string | null, ms: number, files?: import("./types.js").Files} | null,
 * }} Result
 */
/** @template T @typedef {import("../vendor/core.js").Signal<T>} Signal */

const KEY = "tailpipe.history";
const KEPT = 100;

export const text = signal("");
/** @type {Signal<Record<string, string>>} */
export const paramValues = signal({});
/** @type {Signal<Result | null>} */
export const result = signal(null);
export const isRunning = signal(false);
/** @type {Signal<{sql: string, at: number}[]>} */
export const history = signal(readHistory());

/** @type {AbortController | null} */
let running = null;
let isWaiting = false;

function readHistory() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) || "[]");
    return Array.isArray(stored) ? stored.filter((one) => typeof one?.sql === "string" && typeof one?.at === "number") : [];
  } catch {
    return [];
  }
}

/** @param {string} sql */
function remember(sql) {
  history.value = [{ sql, at: Date.now() }, ...history.value.filter((one) => one.sql !== sql)].slice(0, KEPT);
  try {
    localStorage.setItem(KEY, JSON.stringify(history.value));
  } catch {
    // A full or closed storage keeps the history of this page alone.
  }
}

export function forget() {
  history.value = [];
  try {
    localStorage.removeItem(KEY);
  } catch {
    // As above.
  }
}

/** Show a statement in the SQL page and run it. @param {string} sql */
export function openSql(sql) {
  isWaiting = true;
  navigate("sql", { sql });
}

/** The page takes over what the address asks for; only a click of this page runs it at once. */
export function takeRoute() {
  const given = route.value.params.sql;
  if (given !== undefined && given !== text.value) text.value = given;
  const values = Object.entries(route.value.params).filter(([name]) => name.startsWith("p."));
  if (values.length) paramValues.value = Object.fromEntries(values.map(([name, value]) => [name.slice(2), value]));
  if (isWaiting) {
    isWaiting = false;
    void run();
  }
}

export function stop() {
  running?.abort();
}

/**
 * What to run: a saved query by its name, so that the server types its parameters, or SQL.
 * @param {string} sql @param {import("./types.js").SavedQuery | null} saved
 */
export function statement(sql, saved) {
  const given = (saved?.params || []).map(({ name, default: usual }) => [name, own(paramValues.value, name) ?? usual]);
  const params = Object.fromEntries(given.filter(([, value]) => value !== null && value !== undefined));
  return saved && saved.sql.trim() === sql ? { query: saved.name, params } : { sql, params };
}

/** @param {import("./types.js").SavedQuery | null} [saved] */
export async function run(saved = null) {
  const sql = text.value.trim();
  if (!sql) return;
  running?.abort();
  const controller = (running = new AbortController());
  remember(sql);
  const values = Object.entries(paramValues.value).map(([name, value]) => [`p.${name}`, value]);
  navigate("sql", { ...route.value.params, ...Object.fromEntries(values), sql }, { replace: true });
  isRunning.value = true;
  /** @type {Result} */
  const answer = { sql, columns: [], rows: [], error: null, isStopped: false, end: null };
  let isDrawn = false;
  const show = () => {
    isDrawn = false;
    if (running === controller) result.value = { ...answer };
  };
  try {
    await stream("sql", { ...statement(sql, saved), limit: meta.value?.limits.rows }, controller.signal, (message) => {
      if (message.columns) answer.columns = message.columns;
      if (message.rows) answer.rows = answer.rows.concat(message.rows);
      if (message.end) answer.end = message.end;
      if (message.error) answer.error = new ApiError(message.error, 200);
      if (!isDrawn) requestAnimationFrame(show);
      isDrawn = true;
    });
  } catch (error) {
    if (isAbort(error)) answer.isStopped = true;
    else answer.error = error;
  }
  if (running !== controller) return;
  isRunning.value = false;
  result.value = { ...answer };
}
