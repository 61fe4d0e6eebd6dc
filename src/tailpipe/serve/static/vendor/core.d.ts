export * from "../../../../../web/entry/core.js";
