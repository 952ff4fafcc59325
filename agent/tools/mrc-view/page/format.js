// SPDX-License-Identifier: Apache-2.0
// Figures with their units.

const STEPS = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];

export function bits(perSecond) {
  for (const [step, prefix] of STEPS) if (perSecond >= step) return `${(perSecond / step).toFixed(2)} ${prefix}bit/s`;
  return `${Math.round(perSecond)} bit/s`;
}

export const percent = (share) => share === null ? "–" : `${(100 * share).toFixed(share < 0.1 ? 2 : 1)} %`;

export function time(ns) {
  if (ns === null) return "–";
  return ns >= 1e6 ? `${(ns / 1e6).toFixed(2)} ms` : `${(ns / 1e3).toFixed(1)} us`;
}

export const rate = (perSecond) => `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)} /s`;

/* How bad a share of lost packets is. */
export const lossTone = (share) => share === null || share < 0.001 ? "" : share < 0.01 ? "warn" : "bad";

const TONES = { good: "good", unused: "quiet", lossy: "warn", partly: "warn", dark: "bad", down: "bad",
                running: "good", stopped: "warn", dead: "bad", gone: "bad", up: "good" };
export const stateTone = (state) => TONES[state] ?? "";

/* Of a link, its name for people: ends and plane. */
export const linkName = (link) => `${link.a} – ${link.b}, plane ${link.plane}`;
export const linkKey = (link) => `${link.plane}|${link.a}|${link.b}`;
