// @ts-check
// What the workspace has: its tables, their columns and bounds.
import { signal } from "../vendor/core.js";
import { get } from "./api.js";

/** @type {import("../vendor/core.js").Signal<import("./types.js").Meta | null>} */
export const meta = signal(null);
/** @type {import("../vendor/core.js").Signal<unknown>} */
export const metaError = signal(null);

export async function loadMeta() {
  try {
    meta.value = await get("meta");
    metaError.value = null;
  } catch (error) {
    metaError.value = error;
  }
}

/** The name for all tables at once. */
export const ALL = "*";

/** @param {string} name @returns {import("./types.js").Table | null} */
export function tableNamed(name) {
  return meta.value?.tables.find((table) => table.name === name) || null;
}

/** The table that is shown when none is named: the one with the newest row. */
export function usualTable() {
  const tables = (meta.value?.tables || []).filter((table) => table.last_event);
  tables.sort((one, other) => ((one.last_event || "") < (other.last_event || "") ? 1 : -1));
  return tables[0]?.name || meta.value?.tables[0]?.name || "";
}

/** First and last moment of a table, or of all. @param {string} name */
export function boundsOf(name) {
  const tables = (meta.value?.tables || []).filter((table) => name === ALL || table.name === name);
  const first = tables.flatMap((table) => table.first_event || []).sort()[0] || null;
  const last = tables.flatMap((table) => table.last_event || []).sort().at(-1) || null;
  return { first, last };
}
