// @ts-check
// The page Status: partitions, and for one of them its coverage, runs and rejected rows; stores.
import { html } from "../vendor/core.js";
import { get } from "./api.js";
import { Calendar } from "./calendar.js";
import { ago, bytes, compact, count, number } from "./format.js";
import { Rejected } from "./rejected.js";
import { Runs } from "./runs.js";
import { Stores } from "./stores.js";
import { change, href, route } from "./route.js";
import { Empty, ErrorBox, Loading, useLoad } from "./ui.js";

/** @typedef {import("./types.js").Partition} Partition */

/** @param {{partition: Partition, isChosen: boolean, now: number}} props */
function PartitionRow({ partition, isChosen, now }) {
  const { name, rows, bytes: size, last_event: last, last_run, outcome, gap_days: gaps, rejected_rows: rejected } = partition;
  return html`<tr class=${isChosen ? "chosen opens" : "opens"} onClick=${() => change({ partition: name }, { replace: true })}>
    <th scope="row"><a href=${href("status", { partition: name })} aria-current=${isChosen ? "true" : undefined}>${name}</a></th>
    <td><span class="outcome ${outcome || "none"}">${outcome || (partition.is_in_config === false ? "not in config" : "never run")}</span></td>
    <td class="num" title=${number(rows)}>${compact(rows)}</td><td class="num">${bytes(size)}</td>
    <td>${last ? ago(last, now) : "–"}</td><td>${ago(last_run, now)}</td>
    <td class="num">${number(rejected)}</td><td class="num">${gaps ? html`<b class="warn">${count(gaps, "day")}</b>` : "0"}</td>
  </tr>`;
}

/** @param {{partitions: Partition[], chosen: string | undefined, now: number}} props */
function Partitions({ partitions, chosen, now }) {
  return html`<section class="card" aria-label="Partitions"><header><h2>Partitions</h2></header>
    <div class="scroll-x" tabindex="0" role="region" aria-label="Table of partitions"><table class="plain">
      <thead><tr><th scope="col">partition</th><th scope="col">last run</th><th scope="col" class="num">rows</th><th scope="col" class="num">size</th><th scope="col">newest row</th><th scope="col">collected</th><th scope="col" class="num">rejected</th><th scope="col" class="num">gaps</th></tr></thead>
      <tbody>${partitions.map((partition) => html`<${PartitionRow} key=${partition.name} partition=${partition} isChosen=${partition.name === chosen} now=${now} />`)}</tbody>
    </table></div></section>`;
}

export function Status() {
  const { data, error, busy, reload } = useLoad((signal) => get("status", {}, signal), []);
  const partitions = /** @type {Partition[]} */ (data?.partitions || []);
  const chosen = partitions.find(({ name }) => name === route.value.params.partition) || partitions[0];
  const waiting = data?.alerts_waiting || 0;
  const total = partitions.reduce((sum, { rows }) => sum + (rows || 0), 0);
  return html`<div class="column-page">
    <header class="page-head"><h1>Status</h1>
      <p class="muted">${data ? `${count(partitions.length, "partition")} · ${count(total, "row")}${waiting ? ` · ${count(waiting, "alert")} waiting` : ""}` : ""}</p>
      <button onClick=${reload}>Refresh</button></header>
    <${Loading} busy=${busy} /><${ErrorBox} error=${error} />
    ${data && !partitions.length ? html`<${Empty} title="No partitions yet" icon="status"><p>Describe your logs with <code>tailpipe init</code>, then run <code>tailpipe collect</code>.</p><//>` : null}
    ${partitions.length ? html`<${Partitions} partitions=${partitions} chosen=${chosen?.name} now=${Date.now()} />` : null}
    ${chosen ? html`<${Calendar} key=${`calendar ${chosen.name}`} partition=${chosen} /><${Runs} key=${`runs ${chosen.name}`} partition=${chosen.name} />
      <${Rejected} key=${`rejected ${chosen.name}`} partition=${chosen.name} />` : null}
    ${data ? html`<${Stores} stores=${data.stores || []} />` : null}
  </div>`;
}
