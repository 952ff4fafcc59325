// SPDX-License-Identifier: Apache-2.0
// The link that was clicked: who uses it, and why it is blamed; on a lab, what can be done to it.

import { byId, html, morph, table } from "./dom.js";
import { bits, linkName, lossTone, percent, stateTone, time } from "./format.js";
import { linkButtons } from "./lab.js";
import { QPS } from "./lists.js";
import * as server from "./server.js";

const PATHS = [
  { heading: "Path", of: (path) => `${path.host} to leaf ${path.leaf} by uplink ${path.uplink}` },
  { heading: "State", of: (path) => path.state, tone: (path) => path.state === "good" ? "good" : "bad" },
  { heading: "Loss", number: true, of: (path) => percent(path.loss), tone: (path) => lossTone(path.loss) },
  { heading: "Sent", number: true, of: (path) => bits(path.tx_bits_per_s) },
  { heading: "RTT", number: true, of: (path) => time(path.rtt_ns) },
];
const USERS = [{ heading: "Host", of: (qp) => qp.host }, ...QPS.slice(0, 5)];

let chosen = null;

const labWords = (link) => [
  link.lab && link.lab !== "up" ? "The lab has cut it, or a switch at its end." : null,
  link.impairment ? `The lab impairs it: ${link.impairment}.` : null,
].filter(Boolean).join(" ");

const part = (title, columns, rows, none) => [html("h3", {}, title),
  rows.length ? html("div", { class: "scroll" }, table(columns, rows)) : html("p", { class: "quiet" }, none)];

function content(link) {
  const lab = labWords(link);
  return [
    html("p", {}, html("strong", {}, linkName(link)), " ", html("span", { class: stateTone(link.state) }, link.state)),
    html("p", { id: "why" }, `${link.why}.`),
    lab ? html("p", { class: "bad" }, lab) : null,
    html("p", {}, `Loss ${percent(link.loss)}; ${bits(link.up_bits_per_s)} from ${link.a}, ` +
                  `${bits(link.down_bits_per_s)} from ${link.b}.`),
    ...part("Latest events", [{ heading: "Time", of: (event) => event.time.slice(11, 23) },
                              { heading: "Host", of: (event) => event.host },
                              { heading: "Event", of: (event) => event.text }], link.events, "none"),
    ...part("Queue pairs that may use it", USERS, link.qps, "none"),
    html("p", {}, link.peers.length ? `Peers: ${link.peers.join(", ")}` : "No peers."),
    ...part("Paths over it, the worst first", PATHS, link.listed_paths, "none"),
  ].filter(Boolean);
}

/* On a lab with buttons for it. */
export function chooseLink(link, lab) {
  chosen = link;
  byId("link").replaceChildren(...(lab ? [linkButtons(link)] : []), html("div", { id: "link-content" }));
}

export async function showLink() {
  if (!chosen) return;
  const asked = chosen;
  let shown = null;
  try {
    shown = content(await server.link(asked));
  } catch (error) {
    if (!(error instanceof server.Refused)) throw error;
    shown = [html("p", {}, `${linkName(asked)}: ${error.message}`)]; // it has gone
  }
  if (asked === chosen) morph(byId("link-content"), ...shown); // else another was clicked meanwhile
}
