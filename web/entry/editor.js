// The SQL editor: loaded when a page needs it.
export { basicSetup } from "codemirror";
export { Compartment, EditorState, Prec } from "@codemirror/state";
export { EditorView, keymap, placeholder } from "@codemirror/view";
export { indentWithTab } from "@codemirror/commands";
export { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
export { acceptCompletion, completionStatus } from "@codemirror/autocomplete";
export { PostgreSQL, SQLDialect, sql } from "@codemirror/lang-sql";
export { tags } from "@lezer/highlight";
