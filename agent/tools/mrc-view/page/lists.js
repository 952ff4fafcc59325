// SPDX-License-Identifier: Apache-2.0
// Tables: all hosts, or one host's planes, uplinks, peers, queue pairs and clients.

import { byId, html, morph, table } from "./dom.js";
import { bits, lossTone, percent, rate, stateTone, time } from "./format.js";

const sum = (rows, name) => rows.reduce((total, row) => total + row[name], 0);
const hostLink = (name) => html("a", { href: `#host/${encodeURIComponent(name)}` }, name);
const owner = (qp) => qp.client ? `${qp.client.command} (${qp.client.pid})` : "–";

const HOSTS = [
  { heading: "Host", of: (host) => hostLink(host.name) },
  { heading: "mrcd", of: (host) => host.state, tone: (host) => stateTone(host.state) },
  { heading: "Sent", number: true, of: (host) => bits(sum(host.planes ?? [], "tx_goodput_bits_per_s")) },
  { heading: "Placed", number: true, of: (host) => bits(sum(host.planes ?? [], "rx_goodput_bits_per_s")) },
  { heading: "Sent again", number: true, of: (host) => rate(sum(host.planes ?? [], "retransmits_per_s")) },
  { heading: "Paths in use", number: true,
    of: (host) => `${sum(host.planes ?? [], "good")} of ${sum(host.planes ?? [], "paths")}` },
  { heading: "Queue pairs", number: true, of: (host) => String(host.qp_count ?? 0) },
  { heading: "Clients", number: true, of: (host) => String((host.clients ?? []).length) },
];

const PLANES = [
  { heading: "Plane", of: (plane) => String(plane.plane) },
  { heading: "Device", of: (plane) => plane.device },
  { heading: "State", of: (plane) => plane.reason ?? plane.state, tone: (plane) => stateTone(plane.state) },
  { heading: "Goodput sent", number: true, of: (plane) => bits(plane.tx_goodput_bits_per_s) },
  { heading: "Placed", number: true, of: (plane) => bits(plane.rx_goodput_bits_per_s) },
  { heading: "Port out", number: true, of: (plane) => bits(plane.tx_bits_per_s) },
  { heading: "Port in", number: true, of: (plane) => bits(plane.rx_bits_per_s) },
  { heading: "Sent again", number: true, of: (plane) => rate(plane.retransmits_per_s) },
  { heading: "Lost", number: true, of: (plane) => rate(plane.losses_per_s) },
  { heading: "RTT", number: true, of: (plane) => time(plane.rtt_ns) },
  { heading: "Paths in use", number: true, of: (plane) => `${plane.good} of ${plane.paths}` },
];

const UPLINKS = [
  { heading: "Plane", of: (uplink) => String(uplink.plane) },
  { heading: "Uplink", of: (uplink) => String(uplink.uplink) },
  { heading: "State", of: (uplink) => uplink.state, tone: (uplink) => stateTone(uplink.state) },
  { heading: "Paths", of: (uplink) => Object.entries(uplink.states).map(([name, n]) => `${n} ${name}`).join(", ") },
  { heading: "Loss", number: true, of: (uplink) => percent(uplink.loss), tone: (uplink) => lossTone(uplink.loss) },
  { heading: "Sent", number: true, of: (uplink) => bits(uplink.tx_bits_per_s) },
  { heading: "RTT", number: true, of: (uplink) => time(uplink.rtt_ns) },
];

const PEERS = [
  { heading: "Peer", of: (peer) => peer.name },
  { heading: "Address", of: (peer) => peer.address ?? "–" },
  { heading: "Leaf", of: (peer) => String(peer.leaf ?? "–") },
  { heading: "Paths in use", number: true, of: (peer) => `${peer.good} of ${peer.paths}` },
  { heading: "Queue pairs", number: true, of: (peer) => String(peer.qps) },
  { heading: "Sent", number: true, of: (peer) => bits(peer.tx_bits_per_s) },
  { heading: "Placed", number: true, of: (peer) => bits(peer.rx_bits_per_s) },
];

export const QPS = [
  { heading: "QPN", of: (qp) => String(qp.qpn) },
  { heading: "Peer", of: (qp) => qp.peer ?? "–" },
  { heading: "Client", of: owner },
  { heading: "Sent", number: true, of: (qp) => bits(qp.tx_bits_per_s) },
  { heading: "Placed", number: true, of: (qp) => bits(qp.rx_bits_per_s) },
  { heading: "Sent again", number: true, of: (qp) => rate(qp.retransmits_per_s) },
  { heading: "RTT", number: true, of: (qp) => time(qp.rtt_ns) },
  { heading: "Waits for", of: (qp) => qp.limit },
];

const CLIENTS = [
  { heading: "PID", of: (client) => String(client.pid) },
  { heading: "Command", of: (client) => client.command },
  { heading: "UID", of: (client) => String(client.uid) },
  { heading: "Queue pairs", number: true, of: (client) => String(client.queue_pairs) },
  { heading: "Memory", number: true, of: (client) => `${(client.registered_bytes / 1048576).toFixed(1)} MiB` },
];

const titled = (title, columns, rows, none) =>
  [html("h3", {}, title), rows.length ? html("div", { class: "scroll" }, table(columns, rows)) : html("p", { class: "quiet" }, none)];

function hostPage(host) {
  const left = (host.qp_count ?? 0) - (host.qps ?? []).length;
  return [
    html("h2", { "data-host": host.name }, `Host ${host.name} `, html("a", { href: "#" }, "all hosts")),
    ...titled("Planes", PLANES, host.planes ?? [], "no ports"),
    ...titled("Uplinks", UPLINKS, host.uplinks ?? [], "no paths"),
    ...titled("Peers", PEERS, host.peers ?? [], "no peers"),
    ...titled(left > 0 ? `Queue pairs (the busiest; ${left} more)` : "Queue pairs", QPS, host.qps ?? [], "no queue pairs"),
    ...titled("Clients", CLIENTS, host.clients ?? [], "no clients"),
  ];
}

export function showLists(snapshot, hostName) {
  const lists = byId("lists");
  const host = snapshot.hosts.find((one) => one.name === hostName);
  if (host) morph(lists, ...hostPage(host));
  else morph(lists, html("h2", {}, "Hosts"), table(HOSTS, snapshot.hosts));
}
