// @ts-check
// When keys are shortcuts, and when they are text.

/** @param {KeyboardEvent} event */
export function isTyping(event) {
  const target = /** @type {HTMLElement | null} */ (event.target);
  if (!target || target.closest("dialog")) return Boolean(target);
  return Boolean(target.closest("input, textarea, select, [contenteditable], .cm-editor"));
}
