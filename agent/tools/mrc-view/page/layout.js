// SPDX-License-Identifier: Apache-2.0
// Where nodes are drawn: a column for each plane, in it spines above leaves, and the hosts of all planes below.

const ROW = { spine: 50, leaf: 130, network: 130, host: 240 };
export const HEIGHT = 275;

const byIndex = (a, b) => (a.index ?? 0) - (b.index ?? 0) || a.name.localeCompare(b.name, "en", { numeric: true });

function spread(nodes, left, width, places) {
  const step = width / nodes.length;
  nodes.sort(byIndex).forEach((node, i) =>
    places.set(node.name, { x: left + step * (i + 0.5), y: ROW[node.kind], room: step }));
}

/* {places: Map of a node's name to {x, y, room}, planes: [{plane, x}]} for a drawing of this width. */
export function layout(nodes, links, width) {
  const planes = [...new Set(links.map((link) => link.plane))].sort((a, b) => a - b);
  const places = new Map();
  const column = width / Math.max(1, planes.length);
  planes.forEach((plane, i) => {
    for (const kind of ["spine", "leaf", "network"]) {
      const row = nodes.filter((node) => node.kind === kind && node.plane === plane);
      if (row.length) spread(row, i * column, column, places);
    }
  });
  spread(nodes.filter((node) => node.kind === "host"), 0, width, places);
  return { places, planes: planes.map((plane, i) => ({ plane, x: (i + 0.5) * column })) };
}
