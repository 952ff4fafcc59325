// SPDX-License-Identifier: Apache-2.0
// What happened, the latest first.

import { byId, html, morph, table } from "./dom.js";

const MOST_SHOWN = 100;
const COLUMNS = [
  { heading: "Time", of: (event) => event.time.slice(11, 23) },
  { heading: "Host", of: (event) => event.host },
  { heading: "Event", of: (event) => event.text, tone: (event) => toneOf(event) },
];

const BAD = /out_of_use|assumed_bad|kept|denied|silent|_dead|lossy|slow|drops|qp_error/;
const GOOD = /usable|in_use|good|heard/;

/* By the event's name. */
export function toneOf(event) {
  if (BAD.test(event.event)) return "bad";
  return GOOD.test(event.event) ? "good" : "quiet";
}

let shown = 0;
let shownOf = null;

export function showEvents(events, host) {
  const newest = events.length ? events[events.length - 1].n : 0;
  if (newest === shown && host === shownOf) return;
  shown = newest;
  shownOf = host;
  const wanted = events.filter((event) => !host || event.host === host).slice(-MOST_SHOWN).reverse();
  morph(byId("events"), wanted.length
    ? html("div", { class: "scroll" }, table(COLUMNS, wanted)) : html("p", { class: "quiet" }, "none yet"));
}
