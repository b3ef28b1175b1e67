// Objects as points in the plane, colored by their group; a point opens its object.

import { count, h, objectHref, plural, svg } from "./ui.js";

const COLORS = 10; // groups that have a color of their own, the largest first
const WIDTH = 1000;
const HEIGHT = 560;
const EDGE = 26;

export function map(answer) {
  const ranked = answer.groups.filter(([, , size]) => size > 0).sort((a, b) => b[2] - a[2]);
  const colors = new Map(ranked.slice(0, COLORS).map(([, index], at) => [index, at]));
  const place = ([, x, y]) => [EDGE + x * (WIDTH - 2 * EDGE), HEIGHT - EDGE - y * (HEIGHT - 2 * EDGE)];
  const names = new Map(answer.groups.map(([name, index]) => [index, name]));
  const says = h("figcaption", { "aria-live": "polite" });
  const tell = (one) => { says.textContent = one ? `${one[0]}${names.has(one[3]) ? `: ${names.get(one[3])}` : ""}` : caption(answer); };
  const points = answer.objects.map((one) => {
    const [x, y] = place(one);
    const point = svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 4, class: colors.has(one[3]) ? `g${colors.get(one[3])}` : "gx", "data-group": one[3] });
    point.append(svg("title", {}, document.createTextNode(String(one[0]))));
    point.addEventListener("mouseenter", () => tell(one));
    point.addEventListener("click", () => { location.hash = objectHref(one[0]); });
    return point;
  });
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Map of the objects" }, ...points);
  drawing.addEventListener("mouseleave", () => tell(null));
  tell(null);
  const only = (index) => {
    drawing.classList.toggle("only", index !== null);
    for (const point of points) point.classList.toggle("on", index !== null && Number(point.dataset.group) === index);
  };
  const rest = ranked.slice(COLORS).reduce((sum, [, , size]) => sum + size, 0);
  const legend = answer.groups.length > 0 && h("ul.legend", null,
    ranked.slice(0, COLORS).map(([name, index, size], at) => h("li", { onmouseenter: () => only(index), onmouseleave: () => only(null) },
      h("a", { href: `#/groups/${answer.kind}/${index}`, class: `g${at}`, onfocus: () => only(index), onblur: () => only(null) },
        h("span.dot"), h("span.name", null, name), h("span.soft", null, count(size))))),
    rest > 0 && h("li", null, h("a.gx", { href: `#/groups/${answer.kind}` }, h("span.dot"), h("span.name", null, `${ranked.length - COLORS} others`), h("span.soft", null, count(rest)))));
  return h("div.map", null, h("figure", null, drawing, says), legend);
}

const caption = (answer) => `${answer.objects.length < answer.total ? `${count(answer.objects.length)} of ${plural(answer.total, "object")}` : plural(answer.total, "object")}: near each other where the model and each view say the same of them (${answer.method})`;
