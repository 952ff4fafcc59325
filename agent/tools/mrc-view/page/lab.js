// SPDX-License-Identifier: Apache-2.0
// Buttons that change the lab.

import { byId, html } from "./dom.js";
import * as server from "./server.js";

let said = "";
let shape = "";

function tell(words) {
  said = words;
  const place = byId("lab-said");
  if (place) place.textContent = said;
}

async function give(order, button) {
  button.disabled = true;
  tell("working…");
  try {
    tell(`done: ${(await server.order(order)).command}`);
  } catch (error) {
    tell(`refused: ${error.message}`);
  }
  button.disabled = false;
}

const button = (words, order, id = null) =>
  html("button", { type: "button", id, onclick: (event) => give(order(), event.currentTarget) }, words);

/* Every plane has a button; what it does depends on whether the plane is cut. */
export function showLab(lab) {
  byId("lab-section").hidden = lab === null;
  if (lab === null) return;
  const now = JSON.stringify(lab);
  if (now === shape) return;
  shape = now;
  byId("lab").replaceChildren(
    html("div", { class: "buttons" }, ...lab.planes.map(({ plane, cut }) =>
      button(`${cut ? "restore" : "cut"} plane ${plane}`, () => ({ do: cut ? "restore" : "cut", plane }), `plane-${plane}`))),
    html("p", { id: "lab-said", class: "quiet" }, said || "Click a link to cut, restore or impair it."));
}

export function linkButtons(link) {
  const ends = { a: link.a, b: link.b };
  const loss = html("input", { type: "number", min: 0, max: 100, step: "any", value: 5, "aria-label": "loss in percent" });
  return html("div", { class: "buttons" },
    button("cut", () => ({ do: "cut", ...ends })),
    button("restore", () => ({ do: "restore", ...ends })),
    button("lose", () => ({ do: "impair", ...ends, loss: Number(loss.value) })), loss, "%",
    button("lose nothing", () => ({ do: "impair", ...ends, loss: 0 })));
}
