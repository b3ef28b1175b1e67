"""Frames of the explorer's map at 100,000 objects in headless chromium: by WebGL, and on a canvas without it.

python benchmarks/bench_map.py [--objects=100000]

A frame is drawn whole and waited for (a pixel is read back), at views along a path that pans and zooms. Then the map
moves for three seconds as under a hand: the time from one frame to the next, and the share of the points that are drawn
while it moves, which falls where frames take too long. The page itself draws on a canvas where WebGL has no graphics
card, as in a headless browser; here it is measured all the same. Without playwright and chromium nothing is measured.
"""

from __future__ import annotations

import shutil
import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from common import write

SIZE = {"width": 1400, "height": 1000}
FRAMES = 40
CONTEXT = """
const own = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind) { return kind === "webgl2" ? WEBGL : own.call(this, kind); };
"""
SCRIPTS = {
    "WebGL": CONTEXT.replace("WEBGL", "own.call(this, kind, { antialias: false })"),
    "canvas": CONTEXT.replace("WEBGL", "null"),
}
PATH = """const at = (t) => (
  { x: 0.5 + 0.25 * Math.sin(7 * t), y: 0.5 + 0.2 * Math.cos(5 * t), zoom: 1 + 5 * Math.sin(3 * t) ** 2 });"""
WHOLE = f"""(frames) => {{
  {PATH}
  const map = document.querySelector(".map").handle, times = [];
  for (let k = 0; k < frames; k++) {{
    map.setView(at(k / frames));
    const begun = performance.now();
    map.draw();
    map.finish();
    times.push(performance.now() - begun);
  }}
  return times.slice(5);
}}"""
MOVING = f"""(milliseconds) => new Promise((done) => {{
  {PATH}
  const map = document.querySelector(".map").handle, times = [], begun = performance.now();
  let last = null;
  const frame = (now) => {{
    if (last !== null) times.push(now - last);
    last = now;
    map.setView(at((now - begun) / milliseconds));
    if (now - begun < milliseconds) requestAnimationFrame(frame);
    else done([times.slice(Math.floor(times.length / 2)), map.share()]);
  }};
  requestAnimationFrame(frame);
}})"""
RENDERER = """() => {
  const gl = document.createElement("canvas").getContext("webgl2");
  const about = gl && gl.getExtension("WEBGL_debug_renderer_info");
  return about ? gl.getParameter(about.UNMASKED_RENDERER_WEBGL) : "unknown";
}"""


def service(n: int) -> Any:
    """Objects of 40 topics, with a table."""
    from coview import LinkPLSA, Views
    from coview.datasets import make_topic_views
    from coview.web.service import Service

    made = make_topic_views(n, {"words": 300, "links": 100}, n_clusters=40, length=[30, 15], random_state=0).views
    X = Views(dict(made.items()), feature_names={"words": [f"word{j}" for j in range(300)]})
    model = LinkPLSA(40, random_state=0, max_iter=20).fit(X[:5_000])
    return Service(
        model, X, table={"year": 2000 + np.arange(n) * 20 // n, "venue": [f"venue {i % 7}" for i in range(n)]}
    )


def measure(n: int) -> tuple[list[list[Any]], list[str]]:
    from playwright.sync_api import sync_playwright

    from coview.web.api import make_app
    from coview.web.run import running

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    rows, notes = [], []
    with running(make_app(service(n), page=True)) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, script in SCRIPTS.items():
            context = browser.new_context(viewport=SIZE)
            page = context.new_page()
            page.set_default_timeout(180_000)
            if not rows:
                notes.append(f"WebGL is drawn by {page.evaluate(RENDERER)}.")
            page.add_init_script(script)
            begun = time.perf_counter()
            with page.expect_response("**/api/map*") as answered:
                page.goto(f"{url}/#/map")
            megabytes = len(answered.value.body()) / 1e6
            page.locator(".map .frame").wait_for()
            page.wait_for_timeout(1500)
            if not rows:
                waited = time.perf_counter() - begun - 1.5
                notes.append(
                    f"The answer has {megabytes:.1f} MB, and comes after {waited:.1f} s, predictions included."
                )
            whole = page.evaluate(WHOLE, FRAMES)
            moving, share = page.evaluate(MOVING, 3000)
            row = [name, n, float(np.median(whole)), float(np.quantile(whole, 0.1)), float(np.median(moving))]
            rows.append([*row, float(np.quantile(moving, 0.1)), round(float(share), 2)])
            context.close()
        browser.close()
    return rows, notes


if __name__ == "__main__":
    if find_spec("playwright") is None or not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        print("The map is measured where playwright and chromium are installed; here they are not.")
        sys.exit(0)
    objects = next((int(arg.split("=")[1]) for arg in sys.argv[1:] if arg.startswith("--objects=")), 100_000)
    measured, told = measure(objects)
    told.append("Without a graphics card the page takes the canvas by itself. Other work ran on the machine.")
    head = [
        "drawn by",
        "objects",
        "ms of a whole frame",
        "fastest tenth",
        "ms between frames, moving",
        "fastest tenth",
        "points drawn, moving",
    ]
    write("map", "The map of the explorer: frames while panning and zooming", head, measured, told)
