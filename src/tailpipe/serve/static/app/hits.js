// @ts-check
// The page Hits: what detections found, by severity and time; acknowledge, or jump to the row.
import { html, useEffect, useState } from "../vendor/core.js";
import { get, isAbort, post } from "./api.js";
import { count, moment } from "./format.js";
import { HitRow } from "./hit-row.js";
import { HitFilters } from "./hit-filters.js";
import { meta } from "./meta.js";
import { route } from "./route.js";
import { PRESETS, iso } from "./time.js";
import { Empty, ErrorBox, Loading, useLoad } from "./ui.js";

/** @typedef {import("./types.js").Hit} Hit */

/** @returns {Record<string, string | number | null>} */
function asked() {
  const { severity, detection, acknowledged = "false", last } = route.value.params;
  const preset = PRESETS.find(({ name }) => name === last);
  const from = preset?.seconds ? iso(Date.now() - preset.seconds * 1000) : null;
  return { severity, detection, acknowledged: acknowledged === "all" ? null : acknowledged, from, limit: 100 };
}

/** Hits, page after page. */
function useHits() {
  const [state, setState] = useState({ hits: /** @type {Hit[]} */ ([]), next: /** @type {string | null} */ (null), error: /** @type {unknown} */ (null), busy: true });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify([route.value.params, turn]);
  useEffect(() => {
    const controller = new AbortController();
    setState((before) => ({ ...before, busy: true }));
    get("hits", asked(), controller.signal).then(
      ({ hits, next }) => setState({ hits, next, error: null, busy: false }),
      (error) => isAbort(error) || setState((before) => ({ ...before, error, busy: false })),
    );
    return () => controller.abort();
  }, [key]);
  const more = async () => {
    try {
      const { hits, next } = await get("hits", { ...asked(), after: state.next });
      setState((before) => ({ ...before, hits: [...before.hits, ...hits], next }));
    } catch (error) {
      setState((before) => ({ ...before, error }));
    }
  };
  return { ...state, more, reload: () => setTurn((before) => before + 1) };
}

export function Hits() {
  const { hits, next, error, busy, more, reload } = useHits();
  const { data } = useLoad((signal) => get("detections", {}, signal), []);
  const [failure, setFailure] = useState(/** @type {unknown} */ (null));
  const detections = /** @type {import("./types.js").Detection[]} */ ((data?.detections || []).filter((/** @type {import("./types.js").Detection} */ one) => one.enabled));
  const acknowledge = async (/** @type {Hit[]} */ chosen, /** @type {boolean} */ acknowledged, note = "") => {
    try {
      await post("hits/ack", { ids: chosen.map(({ id }) => id), acknowledged, note });
      setFailure(null);
      reload();
    } catch (problem) {
      setFailure(problem);
    }
  };
  const open = hits.filter((hit) => !hit.acknowledged);
  return html`<div class="column-page">
    <header class="page-head"><h1>Hits</h1><p class="muted">${busy && !hits.length ? "" : `${count(hits.length, "hit")}${next ? " and more" : ""}`}${hits[0] ? `, newest ${moment(hits[0].time)}` : ""}</p>
      ${open.length > 1 && !meta.value?.read_only ? html`<button onClick=${() => void acknowledge(open, true)}>Acknowledge all ${open.length}</button>` : null}</header>
    <${HitFilters} detections=${detections} />
    <${Loading} busy=${busy} /><${ErrorBox} error=${error || failure} />
    ${!busy && !error && !hits.length ? html`<${NoHits} detections=${detections} />` : null}
    ${hits.length ? html`<ul class="hit-list">${hits.map((hit) => html`<${HitRow} key=${hit.id} hit=${hit} canChange=${!meta.value?.read_only} onAcknowledge=${acknowledge} />`)}</ul>` : null}
    ${next ? html`<p class="buttons"><button onClick=${() => void more()}>Older hits</button></p>` : null}
  </div>`;
}

/** @param {{detections: import("./types.js").Detection[]}} props */
function NoHits({ detections }) {
  if (!detections.length) {
    return html`<${Empty} title="No detections yet" icon="hits"><p>A detection is a rule over the rows of a table. Add <code>detection</code> blocks to the config, then run <code>tailpipe detect</code>.</p><//>`;
  }
  return html`<${Empty} title="No hits" icon="check"><p>${count(detections.length, "detection")} watch your tables. Nothing matches these filters.</p><//>`;
}
