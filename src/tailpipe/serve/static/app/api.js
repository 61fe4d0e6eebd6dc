// @ts-check
// Requests to the server: JSON answers, streamed answers, and errors that keep their place in the query.

/** An error that the server explained. */
export class ApiError extends Error {
  /** @param {{message?: string, hint?: string | null, line?: number | null, column?: number | null}} error @param {number} status */
  constructor(error, status) {
    super(error.message || `the server answered with status ${status}`);
    this.hint = error.hint || null;
    this.line = error.line ?? null;
    this.column = error.column ?? null;
    this.status = status;
  }
}

/** @param {unknown} error */
export function isAbort(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

/** @param {Response} response @returns {Promise<ApiError>} */
async function failure(response) {
  if (response.status === 401) {
    const hint = "Open the address that tailpipe serve printed: it holds a new token.";
    return new ApiError({ message: "This session has ended.", hint }, 401);
  }
  try {
    return new ApiError((await response.json()).error || {}, response.status);
  } catch {
    return new ApiError({}, response.status);
  }
}

/** @param {string} path @param {RequestInit} init @returns {Promise<Response>} */
async function request(path, init) {
  let response;
  try {
    response = await fetch(`/api/${path}`, { credentials: "same-origin", cache: "no-store", ...init });
  } catch (error) {
    if (isAbort(error)) throw error;
    const hint = "Start it again: tailpipe serve";
    throw new ApiError({ message: "The server does not answer.", hint }, 0);
  }
  if (!response.ok) throw await failure(response);
  return response;
}

/** @param {object} body @param {AbortSignal} [signal] @returns {RequestInit} */
function posted(body, signal) {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal };
}

/** @param {string} path @param {Record<string, unknown>} [query] @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function get(path, query = {}, signal) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return (await request(text ? `${path}?${text}` : path, { signal })).json();
}

/** @param {string} path @param {object} body @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function post(path, body, signal) {
  return (await request(path, posted(body, signal))).json();
}

/**
 * Read a streamed answer message by message, as they arrive.
 * @param {string} path @param {object} body @param {AbortSignal} signal @param {(message: any) => void} receive
 */
export async function stream(path, body, signal, receive) {
  const response = await request(path, posted(body, signal));
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value || "")).split("\n");
    rest = done ? "" : /** @type {string} */ (lines.pop());
    for (const line of lines) if (line) receive(JSON.parse(line));
    if (done) return;
  }
}

/** Download what the server exports. @param {object} body @param {string} name @param {AbortSignal} [signal] */
export async function download(body, name, signal) {
  const response = await request("export", posted(body, signal));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  const given = /filename="?([^";]+)"?/.exec(response.headers.get("content-disposition") || "");
  link.download = given ? given[1] : name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
