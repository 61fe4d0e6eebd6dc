// @ts-check
// The text of the search box: `status:>=500 path:login* -method:GET "text"`.

/** A value as the grammar takes it: text in quotes is compared exactly, which is also faster. @param {unknown} value */
export function quoted(value) {
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  if (typeof value !== "string") return /^-?[\w.]+$/.test(text) ? text : JSON.stringify(text);
  if (/^-?\d+(\.\d+)?$/.test(text)) return text;
  return `"${text.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;
}

/** A name as the grammar takes it: a column, or a key of an object. @param {string} name */
export const fieldName = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `"${name.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`);

/** @param {string} field by `fieldName`; keys of objects behind dots @param {unknown} value @param {boolean} [exclude] */
export function term(field, value, exclude = false) {
  if (value === null || value === undefined || value === "") return `${exclude ? "" : "-"}${field}:*`;
  return `${exclude ? "-" : ""}${field}:${quoted(value)}`;
}

/** Add a term; its opposite goes. @param {string} q @param {string} field @param {unknown} value @param {boolean} [exclude] */
export function withTerm(q, field, value, exclude = false) {
  const added = term(field, value, exclude);
  const opposite = term(field, value, !exclude);
  const kept = split(q).filter((one) => one !== added && one !== opposite);
  return [...kept, added].join(" ");
}

/** @param {string} q @param {string} one */
export function withoutTerm(q, one) {
  return split(q).filter((other) => other !== one).join(" ");
}

/** Names as one parameter of the address. @param {string[]} names */
export const joinNames = (names) => names.map((name) => (name === "-" ? "%2D" : name.replace(/[%,]/g, encodeURIComponent))).join(",");

/** The names of such a parameter; "-" is none. @param {string | undefined} text */
export function splitNames(text) {
  const names = (text || "").split(",").filter((name) => name && name !== "-");
  return names.map((name) => name.replace(/%(25|2[CcDd])/g, decodeURIComponent));
}

/** The terms of a query: quotes and brackets stay together. @param {string} q @returns {string[]} */
export function split(q) {
  const terms = [];
  let current = "";
  let depth = 0;
  let inQuotes = false;
  for (let at = 0; at < q.length; at += 1) {
    const char = q[at];
    if (char === "\\" && inQuotes) {
      current += char + (q[at + 1] ?? "");
      at += 1;
      continue;
    }
    if (char === '"') inQuotes = !inQuotes;
    if (!inQuotes && char === "(") depth += 1;
    if (!inQuotes && char === ")") depth -= 1;
    if (/\s/.test(char) && !inQuotes && depth <= 0) {
      if (current) terms.push(current);
      current = "";
    } else current += char;
  }
  if (current) terms.push(current);
  return terms;
}

/** The word at the caret, for completion. @param {string} q @param {number} caret */
export function wordAt(q, caret) {
  const start = Math.max(...[" ", "(", "\n"].map((char) => q.lastIndexOf(char, caret - 1))) + 1;
  const text = q.slice(start, caret);
  const begin = text.startsWith("-") ? start + 1 : start;
  const word = q.slice(begin, caret);
  const colon = word.indexOf(":");
  if (colon < 0) return { field: null, word, begin };
  return { field: word.slice(0, colon), word: word.slice(colon + 1), begin: begin + colon + 1 };
}
