// SPDX-License-Identifier: Apache-2.0
// Elements of the page. All text goes in as text: names come from elsewhere.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const html = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);
export const byId = (id) => document.getElementById(id);

function isAlike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && a.id === b.id;
}

function morphNode(old, wanted) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return;
  }
  for (const name of old.getAttributeNames()) if (!wanted.hasAttribute(name)) old.removeAttribute(name);
  for (const name of wanted.getAttributeNames())
    if (old.getAttribute(name) !== wanted.getAttribute(name)) old.setAttribute(name, wanted.getAttribute(name));
  morph(old, ...wanted.childNodes);
}

/* Makes the children of `place` like these, and keeps the elements that there are: what is being clicked, read or
   scrolled stays. Not for elements with listeners. */
export function morph(place, ...wanted) {
  const nodes = wanted.map((one) => typeof one === "string" ? document.createTextNode(one) : one);
  nodes.forEach((node, i) => {
    const old = place.childNodes[i];
    if (!old) place.append(node);
    else if (isAlike(old, node)) morphNode(old, node);
    else old.replaceWith(node);
  });
  while (place.childNodes.length > nodes.length) place.lastChild.remove();
}

/* Rows of {heading, of(row), number?, tone?(row)}: `of` gives a text or an element. */
export function table(columns, rows) {
  const cell = (column, row) => {
    const tone = column.tone ? column.tone(row) : "";
    return html("td", { class: [column.number ? "number" : "", tone].join(" ").trim() || null }, column.of(row));
  };
  return html("table", {},
    html("thead", {}, html("tr", {}, ...columns.map((column) =>
      html("th", { class: column.number ? "number" : null, scope: "col" }, column.heading)))),
    html("tbody", {}, ...rows.map((row) => html("tr", {}, ...columns.map((column) => cell(column, row))))));
}
