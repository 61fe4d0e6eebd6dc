export * from "../../../../../web/entry/editor.js";
