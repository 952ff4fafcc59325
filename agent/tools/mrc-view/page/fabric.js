// SPDX-License-Identifier: Apache-2.0
// The drawing. Elements are made when nodes or links come and go; a look changes their attributes only.

import { byId, html, svg } from "./dom.js";
import { legend, mostBits, strokeOf } from "./colours.js";
import { bits, linkKey, linkName, percent } from "./format.js";
import { HEIGHT, layout } from "./layout.js";

const LEAST_ROOM = 34; // pixels that a node's name needs
const CABLE_GAP = 7;   // between cables of the same two hosts

let drawn = { shape: "", links: new Map(), nodes: new Map() };
let chosen = null;

const label = (node) => node.kind === "host" || node.kind === "network" ? node.name
  : `${node.kind === "leaf" ? "leaf" : "spine"} ${node.index}`;

function drawNode(node, place) {
  const width = Math.min(110, place.room - 6);
  const named = place.room >= LEAST_ROOM;
  const text = label(node);
  const short = text.length * 7 > width ? String(node.index ?? node.name).slice(0, Math.floor(width / 8)) : text;
  const group = svg("g", { class: "node", "data-node": node.name },
    svg("rect", { x: place.x - width / 2, y: place.y - 12, width, height: 24, rx: 5 }),
    named ? svg("text", { x: place.x, y: place.y }, short) : null,
    svg("title", {}, node.name));
  if (node.kind !== "host") return group;
  return svg("a", { href: `#host/${encodeURIComponent(node.name)}` }, group);
}

function drawLink(link, ends, shift, onChoose) {
  const [a, b] = ends;
  const line = { x1: a.x + shift, y1: a.y, x2: b.x + shift, y2: b.y };
  const parts = {
    wire: svg("line", { ...line, class: "wire" }),
    title: svg("title"),
    mark: svg("text", { class: "mark", x: (a.x + b.x) / 2 + shift, y: (a.y + b.y) / 2 }),
  };
  parts.group = svg("g", { class: "link", "data-link": linkKey(link), tabindex: 0, role: "button",
                           onclick: () => onChoose(link), onkeydown: (event) => event.key === "Enter" && onChoose(link) },
    parts.wire, svg("line", { ...line, class: "hit" }), parts.mark, parts.title);
  return parts;
}

function draw(snapshot, width, onChoose) {
  const { places, planes } = layout(snapshot.nodes, snapshot.links, width);
  const root = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT });
  drawn.links = new Map();
  const between = new Map();
  for (const link of snapshot.links) {
    const ends = [places.get(link.a), places.get(link.b)];
    if (ends.includes(undefined)) continue;
    const pair = `${link.a}|${link.b}`;
    const before = between.get(pair) ?? 0;
    between.set(pair, before + 1);
    const cable = ends[0].y === ends[1].y; // between hosts: drawn beside each other
    const at = cable ? ends.map((end) => ({ ...end, y: end.y - CABLE_GAP * before })) : ends;
    const parts = drawLink(link, at, 0, onChoose);
    drawn.links.set(linkKey(link), parts);
    root.append(parts.group);
  }
  for (const { plane, x } of planes) root.append(svg("text", { class: "plane", x, y: 16 }, `plane ${plane}`));
  drawn.nodes = new Map();
  for (const node of snapshot.nodes) {
    const element = drawNode(node, places.get(node.name));
    drawn.nodes.set(node.name, element.matches(".node") ? element : element.querySelector(".node"));
    root.append(element);
  }
  byId("fabric").replaceChildren(root);
}

function update(parts, link, by, most) {
  for (const [name, value] of Object.entries(strokeOf(link, by, most))) parts.wire.style.setProperty(name, value);
  parts.group.setAttribute("data-state", link.state);
  parts.group.classList.toggle("chosen", chosen === linkKey(link));
  parts.mark.textContent = link.lab && link.lab !== "up" ? "✕" : link.impairment ? "~" : "";
  parts.title.textContent = `${linkName(link)}: ${link.state}, loss ${percent(link.loss)}, ` +
    `${bits(link.up_bits_per_s)} up, ${bits(link.down_bits_per_s)} down`;
}

export function choose(link) {
  chosen = link ? linkKey(link) : null;
}

export function showFabric(snapshot, by, onChoose) {
  const width = Math.max(300, byId("fabric").clientWidth);
  const shape = [width, ...snapshot.nodes.map((node) => node.name), ...snapshot.links.map(linkKey)].join(" ");
  if (shape !== drawn.shape) {
    draw(snapshot, width, onChoose);
    drawn.shape = shape;
  }
  const most = mostBits(snapshot.links);
  for (const link of snapshot.links) {
    const parts = drawn.links.get(linkKey(link));
    if (parts) update(parts, link, by, most);
  }
  for (const host of snapshot.hosts)
    drawn.nodes.get(host.name)?.classList.toggle("bad", host.problem !== null);
}

export function showLegend(by) {
  byId("legend").replaceChildren(...legend(by).map(([colour, words, dashed]) => {
    const entry = html("span", { class: dashed ? "dashed" : null }, words);
    entry.style.setProperty("--swatch", `var(--${colour})`);
    return entry;
  }));
}
