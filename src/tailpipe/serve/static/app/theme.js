// @ts-check
// Light or dark: as the system says, until somebody chooses.
import { effect, signal } from "../vendor/core.js";

const system = matchMedia("(prefers-color-scheme: dark)");
const stored = () => {
  try {
    return localStorage.getItem("tailpipe.theme");
  } catch {
    return null;
  }
};

/** @type {import("../vendor/core.js").Signal<"light" | "dark">} */
export const theme = signal(stored() === "dark" || (stored() === null && system.matches) ? "dark" : "light");

system.addEventListener("change", (event) => {
  if (stored() === null) theme.value = event.matches ? "dark" : "light";
});
effect(() => document.documentElement.setAttribute("data-theme", theme.value));

export function switchTheme() {
  theme.value = theme.value === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("tailpipe.theme", theme.value);
  } catch {
    // A browser without storage forgets the choice.
  }
}

/** A colour of the style sheet, for what is drawn on a canvas. @param {string} name */
export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
