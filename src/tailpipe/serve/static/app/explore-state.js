// @ts-check
// What Explore shows: the search that the address asks for, and the answers as they come.
import { batch, computed, signal } from "../vendor/core.js";
import { isAbort, post } from "./api.js";
import { ALL, boundsOf, meta, tableNamed, usualTable } from "./meta.js";
import { change, route } from "./route.js";
import { windowOf } from "./time.js";
import { own } from "./format.js";
import { joinNames, splitNames } from "./query.js";

/** @typedef {import("./types.js").Search} Search */
/** @typedef {import("./types.js").Table} Table */
/** @template T @typedef {import("../vendor/core.js").Signal<T>} Signal */

const PAGE = 200;
/** Common columns that say most, where a table has few of its own. */
const TELLING = ["tp_partition", "tp_source_ip", "tp_usernames", "tp_destination_ip", "tp_index"];

export const params = computed(() => (route.value.page === "explore" ? route.value.params : {}));
export const tableName = computed(() => params.value.table || usualTable());
export const table = computed(() => tableNamed(tableName.value));
export const chosenColumns = computed(() => splitNames(params.value.cols));

/** Columns to pick from: those of the table, or those that all tables share. */
export const fields = computed(() => {
  if (tableName.value !== ALL) return table.value?.columns || [];
  const tables = meta.value?.tables || [];
  return (tables[0]?.columns || []).filter((one) => tables.every(({ columns }) => columns.some(({ name }) => name === one.name)));
});

/** Fields whose values are shown: those of the address, or the first few that are cheap. */
export const openFields = computed(() => {
  if (params.value.fields !== undefined) return splitNames(params.value.fields);
  const cheap = fields.value.filter((field) => field.facet).map((field) => field.name);
  const own = cheap.filter((name) => !name.startsWith("tp_"));
  return [...own, ...TELLING.filter((name) => cheap.includes(name))].slice(0, 5);
});

/** @type {Signal<import("./types.js").Histogram | null>} */
export const histogram = signal(null);
/** @type {Signal<(import("./types.js").RowPage & {search: Search}) | null>} */
export const page = signal(null);
/** @type {Signal<Record<string, import("./types.js").Facet>>} */
export const facets = signal({});
/** @type {Signal<Record<string, unknown>>} errors by what failed: search, histogram, fields, more */
export const errors = signal({});
/** @type {Signal<Record<string, boolean>>} */
export const busy = signal({});
export const isBusy = computed(() => Object.values(busy.value).some(Boolean));
/** The row that keys move to. */
export const cursor = signal(-1);

/** @type {Record<string, AbortController>} */
const running = {};

/**
 * Run one kind of request; a newer one of its kind aborts it.
 * @param {string} kind @param {(signal: AbortSignal) => Promise<void>} work
 */
async function only(kind, work) {
  running[kind]?.abort();
  const controller = (running[kind] = new AbortController());
  batch(() => {
    busy.value = { ...busy.value, [kind]: true };
    errors.value = { ...errors.value, [kind]: null };
  });
  try {
    await work(controller.signal);
  } catch (error) {
    if (!isAbort(error) && running[kind] === controller) errors.value = { ...errors.value, [kind]: error };
  } finally {
    if (running[kind] === controller) busy.value = { ...busy.value, [kind]: false };
  }
}

export function stop() {
  for (const controller of Object.values(running)) controller.abort();
  busy.value = {};
}

/** @returns {Search} */
export function search() {
  const window = windowOf(params.value, boundsOf(tableName.value), Date.now());
  return { table: tableName.value, q: params.value.q || "", ...window };
}

/** Ask for everything: rows and histogram at once, then the fields in view. */
export async function run() {
  const asked = search();
  facets.value = {};
  const rows = loadRows(asked);
  void loadHistogram(asked);
  await rows;
  if (!errors.value.rows) void loadFields(openFields.value, asked);
}

/** @param {Search} [asked] */
export async function loadHistogram(asked = search()) {
  await only("histogram", async (signal) => {
    histogram.value = await post("histogram", { search: asked, buckets: 120, color: params.value.color || null }, signal);
  });
}

/** @param {Search} [asked] */
export async function loadRows(asked = search()) {
  running.more?.abort();
  await only("rows", async (signal) => {
    const answer = await post("rows", { search: asked, columns: requestedColumns(), limit: PAGE, after: null }, signal);
    batch(() => {
      page.value = { ...answer, search: asked };
      cursor.value = -1;
    });
  });
  await lookFurther(asked);
}

/** A search that finds little stops looking back after a while: go on until a page is full or all was seen. @param {Search} asked */
async function lookFurther(asked) {
  for (let shown = page.value; shown?.search === asked && !shown.complete && shown.next && shown.rows.length < PAGE; shown = page.value) {
    await loadMore();
    if (page.value?.next === shown.next) return; // stopped or failed
  }
}

/** The time comes first, whatever else is chosen. */
function requestedColumns() {
  if (!chosenColumns.value.length) return null;
  const first = tableName.value === ALL ? ["table", "tp_timestamp"] : ["tp_timestamp"];
  return [...first, ...chosenColumns.value.filter((name) => !first.includes(name))];
}

/** The next rows, below those in view. */
export async function loadMore() {
  const shown = page.value;
  if (!shown?.next || busy.value.more || busy.value.rows) return;
  await only("more", async (signal) => {
    const body = { search: shown.search, columns: shown.columns.map(({ name }) => name), limit: PAGE, after: shown.next };
    const answer = await post("rows", body, signal);
    if (page.value !== shown) return;
    page.value = { ...shown, ...answer, rows: [...shown.rows, ...answer.rows], ids: [...shown.ids, ...answer.ids] };
  });
}

/** Top values, a few fields at a time, so that the first appear early. @param {string[]} names @param {Search} [asked] */
export async function loadFields(names, asked = search()) {
  await only("fields", async (signal) => {
    for (let at = 0; at < names.length; at += 3) {
      const answer = await post("fields", { search: asked, fields: names.slice(at, at + 3), top: 10 }, signal);
      const found = answer.fields.map((/** @type {import("./types.js").Facet} */ facet) => [facet.name, facet]);
      facets.value = { ...facets.value, ...Object.fromEntries(found) };
    }
  });
}

/** @param {string} name */
export function toggleField(name) {
  const open = openFields.value;
  const now = open.includes(name) ? open.filter((one) => one !== name) : [...open, name];
  change({ fields: joinNames(now) || "-" }, { replace: true });
  if (!open.includes(name) && !own(facets.value, name)) void loadFields(now.filter((one) => !own(facets.value, one)));
}

/** @param {string} name */
export function toggleColumn(name) {
  const shown = page.value?.columns.map((column) => column.name).filter((one) => one !== "tp_timestamp" && one !== "table") || [];
  const now = shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name];
  change({ cols: joinNames(now) }, { replace: true });
}

/** @param {import("./types.js").RowId} id */
export const keyOf = (id) => [id.table, id.tp_date, id.tp_id].join("~");
