// What every page needs: rendering, state and time charts.
export { Component, h, options, render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
export { default as uPlot } from "uplot";

import { h } from "preact";
import htm from "htm";

/**
 * Templates without a build step: html`<p>${text}</p>`. Values become text nodes, never markup.
 * @type {(strings: TemplateStringsArray, ...values: unknown[]) => import("preact").VNode<any>}
 */
export const html = /** @type {any} */ (htm.bind(h));

/** @template T @typedef {import("@preact/signals").Signal<T>} Signal */
