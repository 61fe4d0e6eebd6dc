// @ts-check
// The address of the page is its state: `#/explore?table=…&q=…`. What stands behind `#` never reaches the server.
import { signal } from "../vendor/core.js";

export const PAGES = /** @type {const} */ (["explore", "sql", "dashboards", "hits", "status"]);

/** @typedef {typeof PAGES[number]} Page */
/** @typedef {{page: Page, params: Record<string, string>}} Route */

/** @returns {Route} */
function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const page = PAGES.find((name) => name === path) || "explore";
  return { page, params: Object.fromEntries(new URLSearchParams(query)) };
}

export const route = signal(read());
addEventListener("hashchange", () => (route.value = read()));
addEventListener("popstate", () => (route.value = read()));

/** The address of a state, without empty parameters. @param {Page} page @param {Record<string, string | null | undefined>} [params] */
export function href(page, params = {}) {
  const given = Object.entries(params).filter((entry) => entry[1]);
  const query = new URLSearchParams(/** @type {[string, string][]} */ (given)).toString();
  return `#/${page}${query ? `?${query}` : ""}`;
}

/**
 * Go to a state. A change of the same page may replace the entry of the history, so that Back leaves the page's view.
 * @param {Page} page @param {Record<string, string | null | undefined>} [params] @param {{replace?: boolean}} [how]
 */
export function navigate(page, params = {}, how = {}) {
  const target = href(page, params);
  if (target === location.hash) return;
  history[how.replace ? "replaceState" : "pushState"](null, "", target);
  route.value = read();
}

/** Change some parameters of this page. @param {Record<string, string | null | undefined>} changes @param {{replace?: boolean}} [how] */
export function change(changes, how) {
  navigate(route.value.page, { ...route.value.params, ...changes }, how);
}
