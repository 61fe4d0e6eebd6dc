// @ts-check
// The frame of all pages: the rail, the page in view, help and keys.
import { html, useEffect, useState } from "../vendor/core.js";
import { Icon } from "./icons.js";
import { Help } from "./help.js";
import { meta, metaError } from "./meta.js";
import { PAGES, href, navigate, route } from "./route.js";
import { switchTheme, theme } from "./theme.js";
import { Empty, ErrorBox, Loading } from "./ui.js";
import { isTyping } from "./keys.js";
import { Explore } from "./explore.js";
import { SqlPage } from "./sql.js";
import { Dashboards } from "./dashboards.js";
import { Hits } from "./hits.js";
import { Status } from "./status.js";

const LABELS = { explore: "Explore", sql: "SQL", dashboards: "Dashboards", hits: "Hits", status: "Status" };
const VIEWS = { explore: Explore, sql: SqlPage, dashboards: Dashboards, hits: Hits, status: Status };

/** @param {{onHelp: () => void}} props */
function Rail({ onHelp }) {
  const isDark = theme.value === "dark";
  return html`<nav class="rail" aria-label="Pages">
    <a class="brand" href="#/explore" title="tailpipe ${meta.value?.version || ""}" aria-label="tailpipe"><img src="/static/app/icon.svg" alt="" width="26" height="26" /></a>
    ${PAGES.map((page) => html`<a key=${page} href=${href(page)} aria-current=${route.value.page === page ? "page" : undefined}>
      <${Icon} name=${page} size=${18} /><span>${LABELS[page]}</span></a>`)}
    <div class="rail-end">
      <button class="ghost square" onClick=${switchTheme} title=${isDark ? "Light" : "Dark"} aria-label=${isDark ? "Switch to light" : "Switch to dark"}>
        <${Icon} name=${isDark ? "sun" : "moon"} size=${18} /></button>
      <button class="ghost square" onClick=${onHelp} title="Help (?)" aria-label="Help"><${Icon} name="help" size=${18} /></button>
    </div>
  </nav>`;
}

/** Keys that work on every page: `?` and `g` with the first letter of a page. @param {() => void} onHelp */
function useKeys(onHelp) {
  useEffect(() => {
    let isGoing = false;
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      const going = isGoing;
      isGoing = event.key === "g";
      if (event.key === "?") onHelp();
      const page = going && { e: "explore", s: "sql", d: "dashboards", h: "hits", t: "status" }[event.key];
      if (page) navigate(/** @type {import("./route.js").Page} */ (page));
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

export function Shell() {
  const [isHelp, setHelp] = useState(false);
  useKeys(() => setHelp(true));
  const page = route.value.page;
  useEffect(() => {
    document.title = `${LABELS[page]} · ${meta.value?.workspace || "tailpipe"}`;
  }, [page, meta.value]);
  const View = VIEWS[page];
  return html`<div class="shell">
    <a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <${Rail} onHelp=${() => setHelp(true)} />
    <main id="main" class="page ${page}" tabindex="-1">
      ${meta.value ? html`<${View} key=${page} />` : html`<${Waiting} />`}
    </main>
    ${isHelp ? html`<${Help} onClose=${() => setHelp(false)} />` : null}
  </div>`;
}

/** The hash is the state of the page, so a link cannot jump by it. @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Waiting() {
  if (!metaError.value) return html`<${Loading} busy=${true} label="Loading the workspace" />`;
  return html`<${Empty} title="No connection to the workspace" icon="status"><${ErrorBox} error=${metaError.value} /><//>`;
}
