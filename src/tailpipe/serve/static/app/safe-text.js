// @ts-check
// All text of the pages is made visible here, in one place, so that no component can forget it.
import { options } from "../vendor/core.js";
import { visible } from "./format.js";

const SPOKEN = ["title", "aria-label", "placeholder", "label"];

const before = options.vnode;
options.vnode = (node) => {
  // A text node has no type, and its text as its properties.
  const { type, props } = /** @type {{type: unknown, props: any}} */ (node);
  if (type === null && typeof props === "string") /** @type {any} */ (node).props = visible(props);
  else if (typeof type === "string") for (const name of SPOKEN) if (typeof props[name] === "string") props[name] = visible(props[name]);
  before?.(node);
};
