// Objects as points in the plane, colored by their group; a name of a group or of an object is told where it is pointed at.

import { count, groupHref, h, objectHref, plural, svg } from "./ui.js";

const [WIDTH, HEIGHT, MARGIN] = [1000, 760, 24];
const COLORS = 12; // those of the report; then they come again
const NAMED = 12; // groups, the largest

export const colorOf = (index) => `g${index % COLORS}`;

/** The map of a section of `describe`; `items` are the groups, the largest first, and `at` the model. */
export function map(chart, items, at, names) {
  const x = (value) => MARGIN + value * (WIDTH - 2 * MARGIN), y = (value) => MARGIN + (1 - value) * (HEIGHT - 2 * MARGIN);
  const says = h("figcaption", { role: "status" });
  const n = chart.x.length;
  const usual = `${n < chart.n_objects ? `${count(n)} of ${plural(chart.n_objects, "object")}` : plural(n, "object")}: near each other where the model says the same of them (${chart.method}).`;
  const radius = n > 1500 ? 5 : n > 300 ? 7 : 9;
  const called = (code) => (code < 0 ? `no ${chart.noun}` : names[chart.names[code]] || chart.names[code]);
  const grouped = items.length > 0 && chart.noun !== "object";
  const tell = (text) => { says.textContent = text; };
  const points = chart.x.map((value, i) => {
    const id = chart.ids[i];
    const point = svg("circle", { cx: x(value).toFixed(0), cy: y(chart.y[i]).toFixed(0), r: radius, class: grouped && chart.group[i] >= 0 ? colorOf(chart.group[i]) : "rest" });
    const more = chart.label && chart.label[i] >= 0 ? `, label ${chart.labels[chart.label[i]]}` : "";
    point.dataset.id = id;
    point.dataset.says = grouped ? `${id} (${called(chart.group[i])}${more})` : String(id);
    return point;
  });
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Map of ${plural(n, "object")}` }, ...points);
  drawing.addEventListener("click", ({ target }) => { if (target.dataset.id !== undefined) location.hash = objectHref(target.dataset.id); });
  drawing.addEventListener("pointerover", ({ target }) => tell(target.dataset.says ?? usual));
  const light = (index) => points.forEach((point, i) => point.classList.toggle("dim", index !== null && chart.group[i] !== index));
  const tags = !grouped ? [] : apart(items.slice(0, NAMED).flatMap((item) => {
    const own = points.filter((_, i) => chart.group[i] === item.index);
    if (!own.length) return [];
    const middle = (name) => own.map((point) => Number(point.getAttribute(name))).sort((a, b) => a - b)[own.length >> 1];
    const text = (names[item.name] || item.name).split(", ")[0];
    return [{ item, text: text.length > 18 ? `${text.slice(0, 16)} ...` : text, x: middle("cx"), y: middle("cy") }];
  })).map(({ item, text, x: left, y: top }) => {
    const tag = h("a.tag", { href: groupHref(at, item.name), title: names[item.name] || item.name, onpointerenter: () => light(item.index), onpointerleave: () => light(null), onfocus: () => light(item.index), onblur: () => light(null) }, text);
    tag.style.left = `${100 * left / WIDTH}%`;
    tag.style.top = `${100 * top / HEIGHT}%`;
    return tag;
  });
  tell(usual);
  const figure = h("figure.map", null, h("div.plane", null, drawing, tags), says);
  figure.light = light;
  return figure;
}

/** Names of which none covers a larger group's: those that would are moved up or down, or left out. */
function apart(tags) {
  const kept = [];
  for (const tag of tags) {
    const width = 24 * tag.text.length + 30, half = width / 2;
    tag.x = Math.min(Math.max(tag.x, half), WIDTH - half);
    const free = [0, -56, 56, -112, 112].map((step) => tag.y + step).find((top) => top > 30 && top < HEIGHT - 30
      && kept.every((one) => Math.abs(one.x - tag.x) > (one.width + width) / 2 || Math.abs(one.y - top) > 52));
    if (free !== undefined) kept.push({ ...tag, y: free, width });
  }
  return kept;
}
