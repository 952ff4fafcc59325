#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page of mrc-view in headless Chromium: a cut plane shows in the drawing, a click tells who uses a link, buttons
cut and restore, time lines have points; at 1280 and 1920 pixels, dark and light, no text overflows and all of it has
the contrast that WCAG 2.1 asks for (AA: 4.5); a server that is gone is told to be, and a missing chart library, too.

usage: view_browser.py [FOLDER], where screenshots are left
"""

import base64
import pathlib
import sys

import chromium
from lab_support import check, lab, need_binaries, need_root, skip
from transfer_support import wait_until
from view_support import LAB, LIMIT_S, link_in, traffic, view

LEAST_POINTS = 5  # of a time line, at the end of the test
SIZES = ((1280, 800), (1920, 1080))
SCHEMES = ("light", "dark")
LEAST_CONTRAST = 4.5

STATE = "document.querySelector('[data-link=\"{}\"]')?.dataset.state"
LOOK = "Number(document.getElementById('live').textContent.match(/look (\\d+)/)?.[1] ?? 0)"

# Elements whose text is wider than they are, but for those that scroll; names in the drawing wider than their boxes.
OVERFLOWING = """
[document.documentElement, ...document.querySelectorAll("body *")].filter((one) =>
    one.checkVisibility() && !(one instanceof SVGElement) && one.scrollWidth > one.clientWidth + 1 &&
    one.clientWidth > 0 && getComputedStyle(one).display !== "inline" &&
    !one.closest(".scroll"))
  .map((one) => `${one.tagName} ${one.id} ${one.className}: ${one.scrollWidth} > ${one.clientWidth}`)
  .concat([...document.querySelectorAll("#fabric .node")].filter((node) => node.querySelector("text") &&
      node.querySelector("text").getBBox().width > node.querySelector("rect").getBBox().width)
    .map((node) => `node ${node.dataset.node}`))
"""

# Texts whose colour is too near to what is behind them.
PALE = """
(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return parts(getComputedStyle(document.body).backgroundColor);
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const own = (one) => [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const shown = [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility() && own(one) &&
    !one.closest("title, script"));
  const bad = [];
  for (const one of shown) {
    const style = getComputedStyle(one);
    const text = parts(one instanceof SVGElement ? style.fill : style.color);
    const box = one.closest(".node")?.querySelector("rect");
    const behind = box ? parts(getComputedStyle(box).fill) : ground(one);
    if (contrast(text, behind) < LEAST) bad.push(`${one.textContent.trim().slice(0, 30)}: ${contrast(text, behind)}`);
  }
  return { texts: shown.length, bad };
})()
""".replace("LEAST", str(LEAST_CONTRAST))


def until(page, script, what):
    value = wait_until(lambda: page.run(script), LIMIT_S)
    check(value, what)
    return value


def state_is(link, state):
    return f"{STATE.format(link)} === '{state}'"


def check_cut(fabric, served, page):
    until(page, state_is("1|h0|p1t0-0", "good"), "the drawing has the links of h0, which are good")
    fabric.run("plane", "1", "down")
    number = served.shown_at_once(1, lambda now: link_in(now, 1, "h0", "p1t0-0")["state"] == "dark")["number"]
    until(page, f"{LOOK} >= {number}", f"the page has look {number}, too")
    check(page.run(state_is("1|h0|p1t0-0", "dark")), "and the plane's links are dark in the drawing")
    dash = page.run("document.querySelector('[data-link=\"1|h0|p1t0-0\"] .wire').style.strokeDasharray")
    check(dash not in ("", "none"), f"dashed: {dash}")
    until(page, "document.getElementById('events').textContent.includes('plane 1')", "the list of events has it")
    fabric.run("plane", "1", "up")
    until(page, state_is("1|h0|p1t0-0", "good"), "and good when the plane is back")


def check_click(page):
    page.run("document.querySelector('[data-link=\"2|h0|p2t0-0\"] .hit').dispatchEvent(new MouseEvent('click', "
             "{bubbles: true}))")
    why = until(page, "document.getElementById('why')?.textContent", "a click on a link tells why")
    check("paths over it" in why, why)
    check("mrc-perf" in page.run("document.getElementById('link').textContent"), "and who uses it")


def check_buttons(page):
    page.run("document.getElementById('plane-3').click()")
    until(page, state_is("3|h0|p3t0-0", "dark"), "a button cuts a plane")
    until(page, "document.getElementById('plane-3').textContent === 'restore plane 3'", "and becomes another")
    mark = page.run("document.querySelector('[data-link=\"3|h0|p3t0-0\"] .mark').textContent")
    check(mark == "✕", "the cut is marked")
    page.run("document.getElementById('plane-3').click()")
    until(page, state_is("3|h0|p3t0-0", "good"), "which restores it")


def check_time_lines(page):
    until(page, "Chart.getChart('chart-goodput')?.data.datasets.length === 4 && Chart.getChart('chart-goodput')"
                ".data.datasets.every((line) => line.data.some((point) => point.y > 0))", "every plane has goodput")
    for name in ("rtt", "again"):
        points = page.run(f"Chart.getChart('chart-{name}').data.datasets[0].data.length")
        check(points >= LEAST_POINTS, f"there is a line of {name}")


def check_legible(page, name, folder):
    for width, height in SIZES:
        for scheme in SCHEMES:
            page.show(width, height, scheme)
            look = page.run(LOOK)
            until(page, f"{LOOK} > {look} + 1", f"{name} is drawn at {width} pixels, {scheme}")
            found = page.run(OVERFLOWING)
            check(not found, f"no text overflows {found or ''}")
            contrast = page.run(PALE)
            check(contrast["texts"] > 20 and not contrast["bad"],
                  f"{contrast['texts']} texts have a contrast of {LEAST_CONTRAST} {contrast['bad'] or ''}")
            if folder:
                image = page.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
                (pathlib.Path(folder) / f"{name}-{width}-{scheme}.png").write_bytes(base64.b64decode(image))


def check_host_page(page, folder):
    page.run("location.hash = '#host/h0'")
    until(page, "document.querySelector('#lists [data-host=\"h0\"]') !== null", "a host has its page")
    check(page.run("document.querySelectorAll('#lists table').length") == 5, "planes, uplinks, peers, QPs, clients")
    check_legible(page, "host", folder)


def check_without_charts(page, served):
    page.call("Network.setBlockedURLs", urls=["*/lib/chart.js"])
    page.call("Page.navigate", url=served.url)
    until(page, "document.readyState === 'complete' && document.querySelector('[data-link]') && "
                "!document.getElementById('charts-missing').hidden", "a missing chart library is told, and links shown")


def check_gone(page, served):
    served.process.kill()
    until(page, "document.getElementById('live').classList.contains('gone')", "a server that is gone is told to be")
    said = page.run("document.getElementById('live').textContent")
    check("does not answer since" in said, said)


def main():
    need_root()
    need_binaries("mrcd", "mrc-switch", "mrc-perf", "mrc-view")
    if not chromium.program():
        skip("chromium-headless-shell is not installed: scripts/setup --test does it")
    folder = sys.argv[1] if len(sys.argv) > 1 else None
    with lab("viewpage", *LAB) as fabric, traffic(fabric), view("--lab", fabric.prefix) as served, \
            chromium.chromium() as page:
        page.open(served.url)
        page.show(*SIZES[0], SCHEMES[0])
        check_cut(fabric, served, page)
        check_click(page)
        check_buttons(page)
        check_time_lines(page)
        check_legible(page, "lab", folder)
        check_host_page(page, folder)
        check_without_charts(page, served)
        check_gone(page, served)
        check(not page.errors, f"no script has failed {page.errors or ''}")


if __name__ == "__main__":
    main()
