// SPDX-License-Identifier: Apache-2.0
// What the server is asked. Nothing waits for ever.

const LONGEST_MS = 3000;
const LONGEST_ORDER_MS = 40000;

/* The server has answered, and says why it does not do it. */
export class Refused extends Error {}

async function ask(target, options = {}, within = LONGEST_MS) {
  const answer = await fetch(target, { ...options, signal: AbortSignal.timeout(within) });
  if (!answer.ok) throw new Refused((await answer.text()).trim());
  return answer.json();
}

export const snapshot = () => ask("/snapshot");
export const history = (point, event) => ask(`/history?points=${point}&events=${event}`);
export const link = (of) =>
  ask(`/links/${of.plane}/${encodeURIComponent(of.a)}/${encodeURIComponent(of.b)}`);

/* An order to the lab, with the token that only this page has. */
export function order(wanted) {
  const token = document.querySelector('meta[name="mrc-token"]').content;
  return ask("/lab", { method: "POST", headers: { "Content-Type": "application/json", "X-MRC-Token": token },
                       body: JSON.stringify(wanted) }, LONGEST_ORDER_MS);
}
