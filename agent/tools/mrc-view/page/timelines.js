// SPDX-License-Identifier: Apache-2.0
// Time lines by plane, by Chart.js where it is installed: goodput, round-trip time, packets sent again.

import { byId, html } from "./dom.js";
import { toneOf } from "./events.js";

const WINDOW_S = 120;
const MARK_REACH = 5; // pixels from a mark to the pointer

const added = (values) => values.reduce((total, value) => total + value, 0);
const mean = (values) => {
  const known = values.filter((value) => value !== null && value !== undefined);
  return known.length ? added(known) / known.length : null;
};

/* of(host, plane) for each host; all(values) for several of them. */
const CHARTS = [
  { id: "goodput", title: "Goodput, Gbit/s", all: added,
    of: (host, plane, one) => (host.rx_bits_per_s[plane] + (one ? host.tx_bits_per_s[plane] : 0)) / 1e9 },
  { id: "rtt", title: "Round-trip time, us", all: mean,
    of: (host, plane) => host.rtt_ns[plane] === null ? null : host.rtt_ns[plane] / 1e3 },
  { id: "again", title: "Packets sent again, /s", all: added, of: (host, plane) => host.retransmits_per_s[plane] },
];

const charts = new Map();
let marks = [];

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const eventMarks = {
  id: "eventMarks",
  afterDatasetsDraw(chart) {
    const { ctx, chartArea, scales } = chart;
    for (const mark of marks) {
      const x = scales.x.getPixelForValue(mark.x);
      if (x < chartArea.left || x > chartArea.right) continue;
      ctx.save();
      ctx.strokeStyle = style(mark.tone);
      ctx.globalAlpha = 0.7;
      ctx.setLineDash([3, 3]);
      ctx.beginPath();
      ctx.moveTo(x, chartArea.top);
      ctx.lineTo(x, chartArea.bottom);
      ctx.stroke();
      ctx.restore();
    }
  },
};

function tellMark(event, _elements, chart) {
  const near = marks.filter((mark) => Math.abs(chart.scales.x.getPixelForValue(mark.x) - event.x) <= MARK_REACH);
  if (near.length) byId("mark").textContent = near.slice(-2).map((mark) => mark.text).join("; ");
}

function axes() {
  const axis = { grid: { color: style("line") }, ticks: { color: style("quiet"), font: { size: 12 } } };
  return {
    x: { ...axis, type: "linear", min: -WINDOW_S, max: 0, ticks: { ...axis.ticks, callback: (value) => `${value} s` } },
    y: { ...axis, beginAtZero: true, ticks: { ...axis.ticks, maxTicksLimit: 5 } },
  };
}

function make(kind) {
  const canvas = html("canvas", { id: `chart-${kind.id}`, role: "img", "aria-label": kind.title });
  byId("charts").append(html("figure", {}, html("figcaption", {}, kind.title), html("div", {}, canvas)));
  return new window.Chart(canvas, {
    type: "line",
    data: { datasets: [] },
    plugins: [eventMarks],
    options: { animation: false, parsing: false, normalized: true, responsive: true, maintainAspectRatio: false,
               elements: { point: { radius: 0 }, line: { borderWidth: 1.5 } }, scales: axes(), onHover: tellMark,
               plugins: { legend: { position: "right", labels: { boxWidth: 12, color: style("text") } } } },
  });
}

/* [{x: seconds before now, y}] of a plane. */
function series(kind, points, now, plane, hostName) {
  return points.map((point) => {
    const hosts = hostName ? [point.hosts[hostName]].filter(Boolean) : Object.values(point.hosts);
    const known = hosts.filter((host) => plane < host.rtt_ns.length);
    return { x: (point.time_ns - now) / 1e9, y: kind.all(known.map((host) => kind.of(host, plane, hostName !== null))) };
  });
}

function update(kind, points, now, planes, hostName) {
  const chart = charts.get(kind.id) ?? make(kind);
  charts.set(kind.id, chart);
  while (chart.data.datasets.length > planes) chart.data.datasets.pop();
  for (let plane = 0; plane < planes; ++plane) {
    chart.data.datasets[plane] ??= { label: `plane ${plane}`, data: [] };
    const line = chart.data.datasets[plane];
    line.borderColor = line.backgroundColor = style(`plane${plane}`);
    line.data = series(kind, points, now, plane, hostName);
  }
  chart.update("none");
}

const restyle = () => {
  for (const chart of charts.values()) {
    chart.options.scales = axes();
    chart.options.plugins.legend.labels.color = style("text");
  }
};
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);

export function showTimeLines(points, events, now, hostName) {
  byId("charts-missing").hidden = Boolean(window.Chart);
  byId("lines-of").textContent = hostName ? `of ${hostName}: sent and placed` : "of all hosts: placed";
  if (!window.Chart) return;
  const begin = now - WINDOW_S * 1e9;
  const shown = points.filter((point) => point.time_ns >= begin);
  marks = events.filter((event) => event.time_ns >= begin && (!hostName || event.host === hostName))
    .map((event) => ({ x: (event.time_ns - now) / 1e9, tone: toneOf(event),
                       text: `${event.time.slice(11, 23)} ${event.host}: ${event.text}` }));
  const planes = Math.max(0, ...shown.flatMap((point) => Object.values(point.hosts).map((host) => host.rtt_ns.length)));
  for (const kind of CHARTS) update(kind, shown, now, planes, hostName);
}
