// @ts-check
// Stores that share the data of this workspace.
import { html } from "../vendor/core.js";
import { plain, visible } from "./format.js";

/** @param {{stores: Record<string, unknown>[]}} props */
export function Stores({ stores }) {
  return html`<section class="card" aria-label="Stores"><header><h2>Stores</h2></header>
    ${stores.length ? html`<ul class="stores">${stores.map((store, at) => html`<li key=${at}><b>${visible(plain(store.name))}</b>
        <dl class="facts">${Object.entries(store).filter(([name, value]) => name !== "name" && value !== null && value !== "").map(([name, value]) => html`<div key=${name}><dt>${name.replace(/_/g, " ")}</dt><dd class="mono">${visible(plain(value))}</dd></div>`)}</dl></li>`)}</ul>`
      : html`<p class="muted note">No stores. The data of this workspace is on this machine alone.</p>`}
  </section>`;
}
