// @ts-check
// Starts the page: loads what the workspace has, then shows it.
import { html, render } from "../vendor/core.js";
import { Shell } from "./shell.js";
import { loadMeta } from "./meta.js";
import "./safe-text.js";
import "./theme.js";

const root = document.getElementById("app");
if (root) render(html`<${Shell} />`, root);
void loadMeta();
