// SPDX-License-Identifier: Apache-2.0
// How links are drawn: colour by loss or load, width by load, dashes where nothing gets through.

const WORST_LOSS = 0.05; // and more is as red as it gets

const variable = (name) => `var(--${name})`;
const mixed = (from, to, share) => `color-mix(in srgb, var(--${to}) ${Math.round(100 * share)}%, var(--${from}))`;

const busiest = (link) => Math.max(link.up_bits_per_s, link.down_bits_per_s);
export const mostBits = (links) => Math.max(1, ...links.map(busiest));

export function strokeOf(link, by, most) {
  const broken = link.state === "dark" || link.state === "down";
  const load = busiest(link) / most;
  let colour = variable("unused");
  if (broken) colour = variable("bad");
  else if (by === "load") colour = mixed("unused", "accent", load);
  else if (link.state !== "unused" && link.loss !== null)
    colour = link.loss < 0.001 ? variable("good") : mixed("warn", "bad", Math.min(1, link.loss / WORST_LOSS));
  else if (link.state !== "unused") colour = variable("good");
  return { stroke: colour, "stroke-width": broken ? 2.5 : 1.5 + 3.5 * load, "stroke-dasharray": broken ? "5 4" : "none" };
}

/* [colour, words, dashed] of each entry of the legend. */
export const legend = (by) => [
  ...(by === "load" ? [["unused", "no load"], ["accent", "most load"]]
    : [["good", "loss below 0.1 %"], ["warn", "loss"], ["bad", "loss of 5 % and more"], ["unused", "not used"]]),
  ["bad", "no path over it is in use, or its port is out of use", true],
];
