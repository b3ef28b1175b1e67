// Objects as points in the plane, with the names of their groups: to move over, to search, and to color by what is known
// of them. Drawn by map_draw.js; what is near and what fits is in map_index.js.

import { get } from "./api.js";
import { DIM, MARKED, PLAIN, pixels, webgl } from "./map_draw.js";
import { grid, unpacked, withoutOverlap } from "./map_index.js";
import { count, empty, fill, folded, h, hash, heading, objectHref, objectName, plural, replace } from "./ui.js";

const COLORS = 10; // that are chosen by hand; those of further groups are spread over the hues
const NAMED = 400; // groups, the largest, whose names can be on the map
const LEGEND = 12; // entries at a time
const EDGE = 30; // pixels around the points
const FARTHEST = 400; // zoom
const STEP = 60; // pixels that an arrow key moves
const NEAR = 14; // pixels around the pointer in which a point is meant; of a finger twice as many
const STILL = 160; // milliseconds after which a map that stopped is drawn in full
const SLOW = 22; // milliseconds of a frame, from which on fewer points are drawn while the map moves
const FEW = 0.1; // share of the objects; so many found ones are marked by size too
const REST = "#9a9aa6"; // color of what has none
const HELP = "Arrow keys move the map, + and − zoom, 0 shows all. Enter opens the object in the middle, Tab goes to the names of the groups. With the mouse: drag, and turn the wheel.";

/** The page of the map; what is set is in its address. */
export function mapPage(place, { params, page }) {
  page.up = "#/";
  const shown = h("div");
  replace(place, heading("Map"), shown);
  fill(shown, async () => map(await get("/api/map"), page.signal, { params }), "Placing the objects ...");
}

/** A map of an answer of the service until a signal; with parameters of an address it is a page of its own. */
export function map(answer, signal, { params = null } = {}) {
  if (!answer.shown) return empty("No map", "The model gives its objects no places. Start the explorer with data to see them.");
  const own = params !== null;
  const places = unpacked(answer.places, Float32Array);
  const n = answer.shown;
  const nearest = grid(places);
  const groups = [...answer.groups].filter((group) => group.middle).sort((a, b) => b.size - a.size);
  const byGroup = { name: answer.kind, ordered: false, values: groups, rest: null, without: 0, codes: unpacked(answer.codes, Int16Array), groups: true };
  const shuffled = spread(n);

  const state = { coloring: byGroup, only: null, found: null, query: "", at: -1, text: "" };
  const view = { x: 0.5, y: 0.5, zoom: 1 };
  const size = { width: 0, height: 0 };

  // -- what is on the page

  const names = h("div.names");
  const ring = h("div.ring", { hidden: true });
  const tip = h("div.tip", { hidden: true, "aria-hidden": "true" });
  const help = h("p.soft.help", { id: own ? "map-help" : "map-help-small" }, HELP);
  const frame = h("div.frame", { tabIndex: 0, role: "application", "aria-roledescription": "map", "aria-label": `Map of ${plural(n, "object")}`, "aria-describedby": help.id },
    h("canvas"), names, ring, tip,
    h("div.zoom", null, zoomButton("+", "Zoom in", () => zoomBy(1.6)), zoomButton("−", "Zoom out", () => zoomBy(1 / 1.6)), zoomButton("0", "Show all", () => fly({ x: 0.5, y: 0.5, zoom: 1 }))));
  const says = h("figcaption", { "aria-live": "polite" });
  const legend = h("div.legend");
  const found = h("div.found");
  const field = h("input", { type: "search", placeholder: "Find on the map ...", ariaLabel: "Find on the map", "data-search": own, autocomplete: "off" });
  const color = h("select", { ariaLabel: "Color by" }, h("option", { value: "" }, answer.kind ? `color by ${answer.kind}` : "one color"),
    answer.columns.map((name) => h("option", { value: name }, `color by ${name}`)));
  const whole = h("div.map", { class: own ? "own" : "" },
    h("div.row.tools", null, field, (answer.columns.length > 0 || answer.kind) && color),
    h("div.plane", null, h("figure", null, frame, says, help), h("div.beside", null, found, legend)));

  const address = (change) => hash("map", { color: color.value, q: state.query, ...change });
  const kept = () => { if (own) history.replaceState(null, "", address({})); };

  // -- where things are on the screen

  const project = () => {
    const kx = Math.max(size.width - 2 * EDGE, 1) * view.zoom, ky = -Math.max(size.height - 2 * EDGE, 1) * view.zoom;
    return { kx, ky, ox: size.width / 2 - view.x * kx, oy: size.height / 2 - view.y * ky };
  };
  const onScreen = (i) => {
    const { kx, ky, ox, oy } = project();
    return [ox + places[2 * i] * kx, oy + places[2 * i + 1] * ky];
  };
  const meant = (sx, sy, pixelsAround) => {
    const { kx, ky, ox, oy } = project();
    const there = (i) => !state.found || state.found[i];
    return nearest((sx - ox) / kx, (sy - oy) / ky, kx, -ky, pixelsAround, there);
  };

  // -- drawing

  let drawer = null;
  const start = (make) => {
    const canvas = h("canvas");
    frame.querySelector("canvas").replaceWith(canvas);
    const made = make(canvas);
    if (made === null) return start(pixels);
    canvas.addEventListener("webglcontextlost", () => { if (!signal || !signal.aborted) { start(pixels); fit(); } });
    drawer = made;
    drawer.places(places);
    look();
    return drawer;
  };

  let emphasized = 0; // points at the end of the order, in front
  const look = () => {
    const { codes } = state.coloring;
    const palette = paletteOf(state.coloring);
    const looks = new Uint8Array(4 * n), order = new Uint32Array(n);
    const plain = state.only === null && !state.found;
    const inFront = state.found && state.found.few ? MARKED : PLAIN; // few are drawn larger
    let [front, back] = [n, 0];
    for (let k = 0; k < n; k++) {
      const i = shuffled[k];
      const chosen = (state.only === null || codes[i] === state.only) && (!state.found || state.found[i]);
      const color = palette(codes[i]);
      looks[4 * i] = color[0];
      looks[4 * i + 1] = color[1];
      looks[4 * i + 2] = color[2];
      looks[4 * i + 3] = plain ? PLAIN : chosen ? inFront : DIM;
      if (chosen && !plain) order[--front] = i;
      else order[back++] = i;
    }
    emphasized = n - front;
    drawer.looks(looks, order, rgb(css(document.documentElement, "--card")));
    redraw();
  };

  let [waiting, stirred, movingUntil, last, pace, share] = [null, false, 0, 0, 16, 1]; // share of the points while the map moves
  const redraw = () => { if (waiting === null) waiting = requestAnimationFrame(drawFrame); };
  const moved = () => {
    stirred = true;
    movingUntil = performance.now() + STILL;
    redraw();
  };

  const drawFrame = (now) => {
    waiting = null;
    if (signal && signal.aborted) return;
    if (flight) flyOn(now);
    const moving = stirred || performance.now() < movingUntil;
    stirred = false;
    if (moving && last) {
      pace = 0.7 * pace + 0.3 * Math.min(now - last, 200);
      if (pace > SLOW) share = Math.max(0.05, share * Math.max(SLOW / pace, 0.5));
      else if (pace < 18) share = Math.min(1, share * 1.02);
    }
    last = moving ? now : 0;
    draw(moving ? share : 1);
    if (moving) redraw(); // so that frames tell the time that they take
  };

  const draw = (part = 1) => {
    if (!size.width) return;
    const behind = n - emphasized;
    drawer.draw({ ...project(), ...size, point: pointSize(n, view.zoom), first: [0, Math.ceil(behind * part)], last: [behind, emphasized] });
    placeNames();
    placeRing();
  };

  const fit = () => {
    size.width = frame.clientWidth;
    size.height = frame.clientHeight;
    const canvas = frame.querySelector("canvas"), ratio = drawer.ratio();
    canvas.width = Math.max(1, Math.round(size.width * ratio));
    canvas.height = Math.max(1, Math.round(size.height * ratio));
    fitting = null;
    redraw();
  };

  // -- names of the groups

  const buttons = groups.slice(0, NAMED).map((group) => h("button.name", { type: "button", title: `${group.name}: ${plural(group.size, "object")}`,
    onclick: () => pick(group), onfocus: () => emphasize(group.index), onblur: () => emphasize(null) }, shortened(group.name)));
  names.append(...buttons);
  let [boxes, fitting, zoomOfFitting] = [null, null, 0];
  const placeNames = () => {
    if (boxes === null && buttons.length) boxes = buttons.map((button) => [button.offsetWidth, button.offsetHeight]);
    const { kx, ky, ox, oy } = project();
    if (fitting === null || zoomOfFitting !== view.zoom) { // which names fit depends on the zoom alone: none comes or goes while the map is dragged
      fitting = withoutOverlap(buttons.map((_, k) => [groups[k].middle[0] * kx, groups[k].middle[1] * ky, boxes[k][0] + 6, boxes[k][1] + 2]));
      zoomOfFitting = view.zoom;
    }
    buttons.forEach((button, k) => {
      const [x, y] = [ox + groups[k].middle[0] * kx, oy + groups[k].middle[1] * ky];
      const seen = fitting[k] && x > 0 && y > 0 && x < size.width && y < size.height;
      const away = !seen && button !== document.activeElement;
      if (button.hidden !== away) button.hidden = away;
      if (!away) {
        const left = Math.min(Math.max(x - boxes[k][0] / 2, 2), Math.max(size.width - boxes[k][0] - 2, 2));
        button.style.transform = `translate(${left.toFixed(1)}px, ${(y - boxes[k][1] / 2).toFixed(1)}px)`;
      }
    });
  };

  const emphasize = (index) => {
    if (state.only === index) return;
    state.only = index;
    look();
  };

  const pick = (group) => {
    const members = [];
    for (let i = 0; i < n; i++) if (byGroup.codes[i] === group.index) members.push(i);
    fly(around(members));
    replace(says, `${group.name}: ${plural(group.size, "object")}. `, h("a", { href: `#/groups/${answer.kind}/${group.index}` }, `Open the ${answer.kind}`));
  };

  /** The view that shows most of some points. */
  const around = (members) => {
    const range = (axis) => {
      const values = members.map((i) => places[2 * i + axis]).sort((a, b) => a - b);
      return [values[Math.floor(0.05 * (values.length - 1))], values[Math.ceil(0.95 * (values.length - 1))]];
    };
    const [[left, right], [low, high]] = [range(0), range(1)];
    return { x: (left + right) / 2, y: (low + high) / 2, zoom: limited(0.8 / Math.max(right - left, high - low, 0.8 / 40)) };
  };

  // -- one object: under the pointer, or in the middle for the keys

  const point = (i) => {
    if (state.at === i) return;
    state.at = i;
    state.text = "";
    placeRing();
    if (i < 0) return tell();
    setTimeout(async () => {
      if (state.at !== i) return;
      try {
        const one = await objectAt(i);
        if (state.at !== i) return;
        state.text = one.about ? `${one.id}: ${one.about}` : String(one.id);
        placeRing();
        replace(says, objectName(one.id), one.about && ` ${one.about}`, one.label && ` (${one.label})`);
      } catch { /* the service is gone; the next page says so */ }
    }, 60);
  };

  const placeRing = () => {
    const i = state.at;
    ring.hidden = tip.hidden = i < 0;
    if (i < 0) return;
    const [x, y] = onScreen(i);
    ring.style.transform = `translate(${x}px, ${y}px)`;
    const group = groups.find((one) => one.index === byGroup.codes[i]);
    const value = state.coloring.groups ? null : state.coloring.values.find((one) => one.index === state.coloring.codes[i]);
    replace(tip, state.text && h("strong", null, state.text), group && h("span", null, group.name), value && h("span", null, `${state.coloring.name}: ${value.name}`));
    const right = x > size.width / 2;
    tip.style.transform = `translate(${right ? `calc(${x - 12}px - 100%)` : `${x + 12}px`}, ${Math.min(Math.max(y - 12, 4), size.height - 40)}px)`;
  };

  const tell = () => replace(says, caption(answer, state));
  const open = async (i) => { if (i >= 0) location.hash = objectHref((await objectAt(i)).id); };

  /** The object nearest to the middle, for those who use keys. */
  const middle = () => {
    for (const reach of [20, 60, 200, 2000]) {
      const i = meant(size.width / 2, size.height / 2, reach);
      if (i >= 0) return point(i);
    }
    return point(-1);
  };

  // -- moving

  const limited = (zoom) => Math.min(Math.max(zoom, 0.8), FARTHEST);
  const held = (v) => Math.min(Math.max(v, -0.05), 1.05);
  const setView = (to) => {
    Object.assign(view, { x: held(to.x), y: held(to.y), zoom: limited(to.zoom) });
    moved();
  };
  const panBy = (dx, dy) => {
    const { kx, ky } = project();
    flight = null;
    setView({ x: view.x - dx / kx, y: view.y - dy / ky, zoom: view.zoom });
  };
  const zoomBy = (factor, sx = size.width / 2, sy = size.height / 2) => {
    const before = project();
    const [x, y] = [(sx - before.ox) / before.kx, (sy - before.oy) / before.ky];
    flight = null;
    const zoom = limited(view.zoom * factor), f = view.zoom / zoom;
    setView({ x: x + (view.x - x) * f, y: y + (view.y - y) * f, zoom });
  };

  let flight = null;
  const fly = (to) => {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return setView(to);
    flight = { from: { ...view }, to, begun: performance.now() };
    moved();
  };
  const flyOn = (now) => {
    const t = Math.min(Math.max((now - flight.begun) / 280, 0), 1), s = t * t * (3 - 2 * t);
    const { from, to } = flight;
    if (t === 1) flight = null;
    setView({ x: from.x + (to.x - from.x) * s, y: from.y + (to.y - from.y) * s, zoom: from.zoom * (to.zoom / from.zoom) ** s });
  };

  // -- pointers, wheel and keys

  const pointers = new Map();
  let travelled = 0;
  const local = (event) => {
    const box = frame.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  frame.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("button")) return;
    frame.focus({ preventScroll: true, focusVisible: false });
    frame.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, local(event));
    if (pointers.size === 1) travelled = 0;
  });
  frame.addEventListener("pointermove", (event) => {
    const [x, y] = local(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") point(event.target.closest("button") ? -1 : meant(x, y, NEAR));
      return;
    }
    const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    travelled += Math.hypot(x - before[0], y - before[1]);
    if (others.length) {
      const [other] = others;
      zoomBy(Math.hypot(x - other[0], y - other[1]) / Math.max(Math.hypot(before[0] - other[0], before[1] - other[1]), 1), other[0], other[1]);
    } else if (travelled > 4) {
      panBy(x - before[0], y - before[1]);
    }
    pointers.set(event.pointerId, [x, y]);
  });
  const lift = (event) => {
    const here = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    if (!here || event.type === "pointercancel" || travelled > 4 || pointers.size) return;
    const touch = event.pointerType === "touch";
    const i = meant(...here, touch ? 2 * NEAR : NEAR);
    if (touch && i !== state.at) point(i); // a finger cannot hover: the first touch tells, the second opens
    else open(i);
  };
  frame.addEventListener("pointerup", lift);
  frame.addEventListener("pointercancel", lift);
  frame.addEventListener("pointerleave", (event) => { if (!pointers.size && event.pointerType !== "touch") point(-1); });
  frame.addEventListener("wheel", (event) => {
    if (!own && !event.ctrlKey && !frame.contains(document.activeElement)) return; // between other things, the wheel is the page's
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    zoomBy(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0015)), ...local(event));
  }, { passive: false });

  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const bare = event.target === frame;
    const does = {
      ArrowLeft: () => panBy(STEP, 0), ArrowRight: () => panBy(-STEP, 0), ArrowUp: () => panBy(0, STEP), ArrowDown: () => panBy(0, -STEP),
      "+": () => zoomBy(1.4), "=": () => zoomBy(1.4), "-": () => zoomBy(1 / 1.4), 0: () => fly({ x: 0.5, y: 0.5, zoom: 1 }),
      Enter: bare && (() => open(state.at)),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    event.stopPropagation(); // the page has other uses for them
    does();
    if (bare && event.key !== "Enter") middle();
  });
  frame.addEventListener("focus", () => { if (frame.matches(":focus-visible")) middle(); });
  frame.addEventListener("blur", () => point(-1));

  // -- search and colors

  let [typing, asked] = [null, 0];
  const seek = async (text, goes) => {
    const mine = ++asked;
    state.query = text;
    kept();
    if (!text) {
      state.found = null;
      replace(found);
      return look();
    }
    const finding = await get(`/api/map/search?${new URLSearchParams({ q: text })}`);
    if (mine !== asked) return null;
    const at = unpacked(finding.at, Int32Array);
    state.found = new Uint8Array(n);
    for (const i of at) state.found[i] = 1;
    state.found.few = at.length < FEW * n;
    replace(found, h("p", { role: "status" }, finding.total ? `${plural(finding.total, "object")} found` : "Nothing found"),
      h("ul", null, finding.first.map((one) => h("li", null, h("a", { href: objectHref(one.id), "data-entry": true }, objectName(one.id)), one.about && h("span.about", null, ` ${one.about}`)))),
      finding.total > finding.first.length && h("p.soft", null, `and ${count(finding.total - finding.first.length)} more`));
    if (goes && at.length) fly(around([...at]));
    return look();
  };
  const sought = (text, goes) => seek(text, goes).catch((error) => replace(found, h("p", { role: "alert" }, error.message)));
  field.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => sought(field.value.trim(), false), 150);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(typing);
    sought(field.value.trim(), true);
  });

  const recolor = async () => {
    const name = color.value;
    const wanted = name ? await get(`/api/map/column?${new URLSearchParams({ name })}`) : byGroup;
    if (color.value !== name) return;
    state.coloring = wanted === byGroup ? byGroup : { ...wanted, codes: unpacked(wanted.codes, Int16Array) };
    state.only = null;
    drawLegend();
    tell();
    look();
    kept();
  };
  const recolored = () => recolor().catch((error) => replace(says, error.message));
  color.addEventListener("change", recolored);

  const drawLegend = () => {
    const { coloring } = state;
    const palette = paletteOf(coloring);
    const dot = (index) => {
      const mark = h("span.dot");
      mark.style.background = `rgb(${palette(index).join(" ")})`;
      return mark;
    };
    const inside = (value) => [dot(value.index), h("span.name", null, value.name), h("span.soft", null, count(value.size))];
    const entries = coloring.values.map((value) => [value, coloring.groups
      ? h("a", { href: `#/groups/${answer.kind}/${value.index}`, onfocus: () => emphasize(value.index), onblur: () => emphasize(null) }, inside(value))
      : h("button", { type: "button", "aria-pressed": "false", onclick: (event) => {
        const button = event.currentTarget, on = button.getAttribute("aria-pressed") !== "true";
        for (const other of legend.querySelectorAll("[aria-pressed]")) other.setAttribute("aria-pressed", "false");
        button.setAttribute("aria-pressed", String(on));
        emphasize(on ? value.index : null);
      } }, inside(value))]);
    const item = ([value, entry]) => h("li", coloring.groups ? { onmouseenter: () => emphasize(value.index), onmouseleave: () => emphasize(null) } : null, entry);
    replace(legend,
      coloring.ordered && h("p.soft", null, `${coloring.name}, from low to high`),
      entries.length > 0 && folded(entries, item, LEGEND, h("ul")),
      coloring.without > 0 && h("p.soft", null, `${plural(coloring.without, "object")} without a value`));
  };

  // -- begin, and end with the page

  start(webgl);
  drawLegend();
  tell();
  const resizing = new ResizeObserver(fit);
  resizing.observe(frame);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const themed = () => { drawLegend(); look(); };
  const themes = new MutationObserver(themed);
  themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  scheme.addEventListener("change", themed);
  if (signal) {
    signal.addEventListener("abort", () => {
      resizing.disconnect();
      themes.disconnect();
      scheme.removeEventListener("change", themed);
      if (waiting !== null) cancelAnimationFrame(waiting);
      drawer.end();
    });
  }
  if (own) {
    field.value = params.get("q") || "";
    if (field.value) sought(field.value.trim(), true);
    if (answer.columns.includes(params.get("color"))) {
      color.value = params.get("color");
      recolored();
    }
  }
  const show = (i, zoom) => {
    setView({ x: places[2 * i], y: places[2 * i + 1], zoom });
    draw();
    return onScreen(i);
  };
  whole.handle = { view, setView, onScreen, show, draw, kind: () => drawer.name, finish: () => drawer.finish(), share: () => share }; // for tests and benchmarks
  return whole;
}

const zoomButton = (sign, name, does) => h("button", { type: "button", ariaLabel: name, title: name, onclick: does }, sign);
const objectAt = async (i) => (await get(`/api/map/objects?at=${i}`))[0];
const shortened = (name) => (name.length > 30 ? `${name.slice(0, 28)} ...` : name);

function caption(answer, state) {
  const shown = answer.shown < answer.total ? `${count(answer.shown)} of ${plural(answer.total, "object")}` : plural(answer.total, "object");
  return `${shown}: near each other where the model says the same of them (${answer.how})${state.coloring.groups ? "" : `, colored by ${state.coloring.name}`}`;
}

/** Numbers below n in an order without a pattern: a part of them is a sample of all. */
function spread(n) {
  const shared = (a, b) => (b ? shared(b, a % b) : a);
  let step = Math.max(1, Math.round(0.618 * n));
  while (shared(step, n) !== 1) step++;
  return Uint32Array.from({ length: n }, (_, k) => (k * step) % n);
}

/** Pixels of a point: many are small, and grow when they come nearer. */
const pointSize = (n, zoom) => Math.min(14, (n <= 500 ? 8 : n <= 4000 ? 5.5 : n <= 20000 ? 4 : 2.6) * Math.max(zoom, 1) ** 0.3);

// -- colors

const css = (element, name) => getComputedStyle(element).getPropertyValue(name).trim();
const rgb = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));

/** A function from a value to its color: [red, green, blue]. */
function paletteOf(coloring) {
  const rest = rgb(REST), colors = new Map();
  if (coloring.ordered) {
    const stops = [0, 1, 2].map((k) => rgb(css(document.documentElement, `--ramp${k}`)));
    coloring.values.forEach((value, k) => {
      const t = 2 * k / Math.max(coloring.values.length - 1, 1), low = Math.min(Math.floor(t), 1);
      colors.set(value.index, stops[low].map((part, c) => Math.round(part + (t - low) * (stops[low + 1][c] - part))));
    });
  } else {
    coloring.values.forEach((value, k) => colors.set(value.index, value.index === coloring.rest ? rest : k < COLORS ? rgb(css(document.documentElement, `--g${k}`)) : hue(k)));
  }
  return (code) => colors.get(code) || rest;
}

/** Colors beyond those chosen by hand, each far from the last. */
function hue(k) {
  const at = (k * 137.508) % 360, strength = 0.24;
  return [0, 8, 4].map((shift) => {
    const turn = (shift + at / 30) % 12;
    return Math.round(255 * (0.54 - strength * Math.max(-1, Math.min(turn - 3, 9 - turn, 1))));
  });
}
