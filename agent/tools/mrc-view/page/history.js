// SPDX-License-Identifier: Apache-2.0
// Points of the time lines and events, as many as the server keeps, fetched once and then as they come.

import * as server from "./server.js";

const MOST_POINTS = 1200;
const MOST_EVENTS = 2000;

export const points = [];
export const events = [];

const last = (list) => list.length ? list[list.length - 1].n : 0;

export async function fetchHistory(snapshot) {
  if (snapshot.last_point < last(points) || snapshot.last_event < last(events)) {
    points.length = 0; // mrc-view has begun anew
    events.length = 0;
  }
  if (snapshot.last_point === last(points) && snapshot.last_event === last(events)) return;
  const more = await server.history(last(points), last(events));
  points.push(...more.points);
  events.push(...more.events);
  points.splice(0, Math.max(0, points.length - MOST_POINTS));
  events.splice(0, Math.max(0, events.length - MOST_EVENTS));
}
