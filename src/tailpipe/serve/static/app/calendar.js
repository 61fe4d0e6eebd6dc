// @ts-check
// Coverage as a calendar: a column for each week, a square for each day.
import { html, useEffect, useRef } from "../vendor/core.js";
import { get } from "./api.js";
import { count, number } from "./format.js";
import { change, href, route } from "./route.js";
import { ErrorBox, Loading, useLoad } from "./ui.js";

/** @typedef {import("./types.js").Day} Day */

const RANGES = ["90", "180", "365", "730"];
const DAY = 86_400_000;
const NAMES = { covered: "collected", missing: "missing", dropped: "dropped", not_requested: "not requested" };
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** @param {string} day */
const timeOf = (day) => Date.parse(`${day}T00:00:00Z`);
/** Monday is 0. @param {string} day */
const weekday = (day) => (new Date(timeOf(day)).getUTCDay() + 6) % 7;

/** @param {Day[]} days @returns {(Day | null)[][]} */
function weeksOf(days) {
  /** @type {(Day | null)[][]} */
  const weeks = [];
  for (const day of days) {
    if (!weeks.length || weekday(day.day) === 0) weeks.push(Array(weekday(day.day)).fill(null));
    weeks[weeks.length - 1].push(day);
  }
  return weeks;
}

/** Spans of missing days, in words. @param {Day[]} days */
function gapsOf(days) {
  /** @type {string[][]} */
  const gaps = [];
  for (const { day, state } of days) {
    if (state !== "missing") continue;
    const last = gaps.at(-1);
    if (last && timeOf(day) - timeOf(last[1]) === DAY) last[1] = day;
    else gaps.push([day, day]);
  }
  return gaps;
}

/** Five shades by the rows of a day. @param {Day} day @param {number} most */
const shade = (day, most) => (day.state !== "covered" ? "" : !day.rows ? "shade-0" : `shade-${Math.max(1, Math.ceil((4 * day.rows) / most))}`);

/** @param {{day: Day, table: string, most: number}} props */
function Square({ day, table, most }) {
  const text = `${day.day}: ${NAMES[day.state]}${day.rows === null ? "" : `, ${count(day.rows, "row")}`}`;
  const next = new Date(timeOf(day.day) + DAY).toISOString().slice(0, 10);
  const name = `day ${day.state} ${shade(day, most)}`;
  if (day.state !== "covered") return html`<span class=${name} role="img" title=${text} aria-label=${text} />`;
  return html`<a class=${name} title=${text} aria-label=${text} href=${href("explore", { table, from: `${day.day}T00:00:00Z`, to: `${next}T00:00:00Z` })} />`;
}

/** @param {{days: Day[], table: string}} props */
function Weeks({ days, table }) {
  const most = Math.max(1, ...days.map(({ rows }) => rows || 0));
  const weeks = weeksOf(days);
  const ref = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    if (ref.current) ref.current.scrollLeft = ref.current.scrollWidth; // the newest days first
  }, [days]);
  return html`<div class="calendar scroll-x" ref=${ref} tabindex="0" role="group" aria-label="Days">
    <div class="weekdays" aria-hidden="true"><b /> ${WEEKDAYS.map((name, at) => html`<span key=${name}>${at % 2 ? "" : name}</span>`)}</div>
    ${weeks.map((week) => {
      const head = week.find((day) => day?.day.endsWith("-01"));
      return html`<div class="week" key=${week.find(Boolean)?.day}><b aria-hidden="true">${head ? MONTHS[Number(head.day.slice(5, 7)) - 1] : ""}</b>
        ${week.map((day, at) => (day ? html`<${Square} key=${day.day} day=${day} table=${table} most=${most} />` : html`<span key=${at} class="day none" />`))}</div>`;
    })}
  </div>`;
}

/** @param {{partition: import("./types.js").Partition}} props */
export function Calendar({ partition }) {
  const range = RANGES.find((one) => one === route.value.params.days) || "365";
  const to = new Date().toISOString().slice(0, 10);
  const from = new Date(Date.now() - Number(range) * DAY).toISOString().slice(0, 10);
  const { data, error, busy } = useLoad((signal) => get("coverage", { partition: partition.name, from, to }, signal), [range]);
  const days = /** @type {Day[]} */ (data?.days || []);
  const gaps = gapsOf(days);
  return html`<section class="card" aria-label="Coverage">
    <header><h2>Coverage <span class="muted">${partition.name}</span></h2>
      <label class="inline">Days <select value=${range} onChange=${(/** @type {any} */ event) => change({ days: event.target.value }, { replace: true })}>
        ${RANGES.map((n) => html`<option key=${n} value=${n}>${n}</option>`)}</select></label></header>
    <${Loading} busy=${busy} /><${ErrorBox} error=${error} />
    <div class="calendar-box">${days.length ? html`<${Weeks} days=${days} table=${partition.table} />` : null}</div>
    ${data ? html`<div class="legend">
      <span><i class="day covered shade-1" /><i class="day covered shade-2" /><i class="day covered shade-4" /> collected, darker with more rows</span><span><i class="day missing" /> missing</span><span><i class="day dropped" /> dropped</span><span><i class="day not_requested" /> not requested</span></div>
      <p class="muted note">${gaps.length ? `Missing: ${gaps.slice(0, 6).map(([one, other]) => (one === other ? one : `${one} to ${other}`)).join(", ")}${gaps.length > 6 ? ` and ${number(gaps.length - 6)} more` : ""}. Collect them with tailpipe collect ${partition.name} --from ${gaps[0][0]}` : "No missing days."}</p>` : null}
  </section>`;
}
