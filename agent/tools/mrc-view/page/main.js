// SPDX-License-Identifier: Apache-2.0
// Looks at the server again and again and shows what it says. `#host/NAME` is the page of a host.

import { byId, html } from "./dom.js";
import { showEvents } from "./events.js";
import { choose, showFabric, showLegend } from "./fabric.js";
import { events, fetchHistory, points } from "./history.js";
import { showLab } from "./lab.js";
import { chooseLink, showLink } from "./link.js";
import { showLists } from "./lists.js";
import * as server from "./server.js";
import { showTimeLines } from "./timelines.js";

const PERIOD_MS = 250;

let latest = null;
let lostSince = null;

const colour = () => document.querySelector('input[name="colour"]:checked').value;
const shownHost = () => location.hash.startsWith("#host/") ? decodeURIComponent(location.hash.slice(6)) : null;

function showProblems(snapshot) {
  const lines = snapshot.hosts.filter((host) => host.problem).map((host) => `${host.name}: ${host.problem}`);
  if (snapshot.lab?.problem) lines.push(snapshot.lab.problem);
  const place = byId("problems");
  if (place.textContent !== lines.join("")) place.replaceChildren(...lines.map((line) => html("p", {}, line)));
}

function showLive(snapshot) {
  const live = byId("live");
  live.classList.remove("gone");
  live.textContent = `live, look ${snapshot.number}`;
  byId("title").textContent = snapshot.lab ? `lab ${snapshot.lab.prefix}` : snapshot.hosts.map((host) => host.name).join(", ");
}

function showLoss(error) {
  lostSince ??= new Date();
  const live = byId("live");
  live.classList.add("gone");
  live.textContent = `mrc-view does not answer since ${lostSince.toLocaleTimeString()}; what is shown is old (${error.message})`;
}

function show() {
  if (!latest) return;
  const host = shownHost();
  showFabric(latest, colour(), (link) => {
    choose(link);
    chooseLink(link, latest.lab);
    show();
    showLink().catch(showLoss);
  });
  showLists(latest, host);
  showLab(latest.lab);
  showTimeLines(points, events, latest.time_ns, host);
  showEvents(events, host);
}

async function look() {
  try {
    latest = await server.snapshot();
    await fetchHistory(latest);
    await showLink();
    lostSince = null;
    showLive(latest);
    showProblems(latest);
    show();
  } catch (error) {
    showLoss(error);
  }
  setTimeout(look, PERIOD_MS);
}

for (const input of document.querySelectorAll('input[name="colour"]'))
  input.addEventListener("change", () => { showLegend(colour()); show(); });
window.addEventListener("hashchange", show);
window.addEventListener("resize", show);
showLegend(colour());
look();
