// What groups are worth, where they are prevalent, and how they belong together.

import { get, groups } from "./api.js";
import { count, empty, fill, folded, h, hash, heading, percent, plural, replace, svg, viewName } from "./ui.js";

const NAMES = { class: "classes", cluster: "clusters", topic: "topics" };
const CHARTS = 24; // at a time
const ROW = 26; // pixels of a group in the tree
const LEFT = 8; // pixels beside the tree's root
const NAME_LETTERS = 34;

/** The kind of groups that the address means, else the first one; and links to the others. */
async function chosen(params, path) {
  const shown = path === "prevalence" ? ["class", "cluster", "topic"] : ["cluster", "topic"]; // classes are judged by accuracy
  const kinds = (await groups()).filter((part) => shown.includes(part.kind) && !part.apart).map((part) => part.kind);
  const kind = kinds.includes(params.get("of")) ? params.get("of") : kinds[0];
  const picker = kinds.length > 1 && h("div.picker", { role: "group", ariaLabel: "Groups" }, kinds.map((one) =>
    h("a.button", { href: hash(path, { of: one }), "aria-current": one === kind ? "true" : null, class: one === kind ? "on" : "" }, NAMES[one])));
  return { kind, picker };
}

// -- quality

export function quality(place, { params, page }) {
  page.up = "#/";
  const shown = h("div");
  replace(place, heading("Quality"), shown);
  fill(shown, async () => {
    const { kind, picker } = await chosen(params, "quality");
    const answer = await get(`/api/quality/${kind}`);
    if (!answer.views.length) return h("div", null, picker, empty("Nothing to judge", "No view has features that occur together: vectors and measurements do not."));
    return h("div", null, picker,
      h("p.soft", null, `Do the ${answer.n_features} features of the largest weight of a ${kind} occur in the same objects (NPMI from −1 to 1, C_V from 0 to 1), and are they in no other ${kind} (exclusivity, diversity: 1 is best)? Coherence and exclusivity are means over the ${NAMES[kind]}.`),
      h("section", null, table("Views", ["View", "NPMI", "C_V", "Exclusivity", "Diversity"],
        answer.views.map((view) => [viewName(view.name), number(view.npmi), number(view.c_v), number(view.exclusivity), number(view.diversity)]))),
      h("section", null, sortable(answer, kind)));
  }, "Counting which features occur together ...");
}

function sortable(answer, kind) {
  const views = answer.views.map((view) => view.name);
  const mean = (group, name) => {
    const values = views.map((view) => group.views[view] && group.views[view][name]).filter((value) => value !== null && value !== undefined);
    return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : -2;
  };
  const order = h("select", { ariaLabel: "Order" }, h("option", { value: "npmi" }, "most coherent first"), h("option", { value: "-npmi" }, "least coherent first"),
    h("option", { value: "exclusivity" }, "most exclusive first"), h("option", { value: "" }, "in order"));
  const rows = h("div");
  const draw = () => {
    const name = order.value.replace("-", ""), sign = order.value.startsWith("-") ? 1 : -1;
    const sorted = name ? [...answer.groups].sort((a, b) => sign * (mean(a, name) - mean(b, name))) : answer.groups;
    replace(rows, table(`Each ${kind}`, ["Name", ...views.flatMap((view) => [[viewName(view), " NPMI"], "C_V", "Exclusivity"])],
      sorted.map((group) => [h("a", { href: `#/groups/${kind}/${group.index}`, "data-entry": true }, group.name),
        ...views.flatMap((view) => ["npmi", "c_v", "exclusivity"].map((each) => number(group.views[view] && group.views[view][each])))])));
  };
  order.addEventListener("change", draw);
  draw();
  return h("div", null, h("div.row", null, order), rows);
}

const number = (value) => (value === null || value === undefined ? h("span.soft", null, "none") : value.toFixed(2).replace("-", "\u2212"));

function table(name, head, rows) {
  return h("div.card.scrolling", null, h("table.plain.numbers", null, h("caption", null, name),
    h("thead", null, h("tr", null, head.map((cell) => h("th", { scope: "col" }, cell)))),
    h("tbody", null, rows.map(([first, ...rest]) => h("tr", null, h("th", { scope: "row" }, first), rest.map((cell) => h("td.number", null, cell)))))));
}

// -- prevalence

export function prevalence(place, { params, page }) {
  page.up = "#/";
  const shown = h("div");
  replace(place, heading("Prevalence"), shown);
  fill(shown, async () => {
    const by = params.get("by");
    const { kind, picker } = await chosen(params, "prevalence", { by });
    let answer;
    try {
      answer = await get(`/api/prevalence/${kind}${by ? `?${new URLSearchParams({ by })}` : ""}`);
    } catch (error) {
      if (error.status !== 422) throw error;
      return empty("Nothing to compare by", error.message);
    }
    const column = h("select", { ariaLabel: "By", onchange: () => { location.hash = hash("prevalence", { of: params.get("of"), by: column.value }); } },
      answer.columns.map((name) => h("option", { value: name, selected: name === answer.by }, `by ${name}`)));
    const field = h("input", { type: "search", placeholder: "Filter by word ...", "data-search": true, ariaLabel: "Filter" });
    const order = h("select", { ariaLabel: "Order" }, h("option", { value: "mean" }, "largest first"), h("option", { value: "change" }, "largest differences first"));
    const charts = h("div");
    const range = (group) => Math.max(...group.share) - Math.min(...group.share);
    const draw = () => {
      const query = field.value.trim().toLowerCase();
      const kept = answer.groups.filter((group) => group.name.toLowerCase().includes(query))
        .sort((a, b) => (order.value === "mean" ? b.mean - a.mean : range(b) - range(a)));
      replace(charts, kept.length ? folded(kept, (group) => chart(answer, kind, group), CHARTS, h("div.grid")) : empty("No matches", `No ${kind} has such a name.`));
    };
    field.addEventListener("input", draw);
    order.addEventListener("change", draw);
    draw();
    return h("div", null, picker,
      h("p.soft", null, `How much the objects of each value belong to each ${kind}, in the mean. The band is a 95 % interval. Each chart has a scale of its own.`,
        answer.without > 0 && ` ${plural(answer.without, "object")} without a value of ${answer.by} ${answer.without === 1 ? "is" : "are"} left out.`),
      h("div.row", null, column, order, field), charts);
  }, "Comparing the objects ...");
}

/** One group by the values of a column: a line with a band where they have an order, else bars with whiskers. */
function chart(answer, kind, group) {
  const most = Math.max(...group.high.map((value, k) => value ?? group.share[k]), 1e-6);
  return h("div.card.prevalence", null,
    h("h3", null, h("a", { href: `#/groups/${kind}/${group.index}`, "data-entry": true }, group.name), h("span.badge", null, percent(group.mean))),
    answer.ordered ? band(answer, group, most) : bars(answer, group, most),
    answer.ordered && h("details", null, h("summary", null, "Numbers"), numbers(answer, group)));
}

const interval = (group, k) => (group.low[k] === null ? percent(group.share[k]) : `${percent(group.share[k])} (${percent(group.low[k])} to ${percent(group.high[k])})`);

const numbers = (answer, group) => h("table.plain.numbers", null, h("tbody", null, answer.values.map((value, k) => h("tr", null,
  h("th", { scope: "row" }, value), h("td.number", null, interval(group, k)), h("td.number.soft", null, count(answer.objects[k]))))));

const bars = (answer, group, most) => h("ul.bars", null, answer.values.map((value, k) => {
  const whisker = h("span.whisker");
  if (group.low[k] !== null) {
    whisker.style.left = `${100 * group.low[k] / most}%`;
    whisker.style.width = `${100 * (group.high[k] - group.low[k]) / most}%`;
  }
  return h("li", { title: `${value}: ${interval(group, k)}, ${plural(answer.objects[k], "object")}` }, h("span.name", null, value),
    h("span.track", null, h("span.bar", { "width%": 100 * group.share[k] / most }), whisker), h("span.value", null, percent(group.share[k])));
}));

function band(answer, group, most) {
  const [width, height, top] = [300, 96, 8];
  const n = answer.values.length;
  const x = (k) => (n > 1 ? 6 + k * (width - 12) / (n - 1) : width / 2);
  const y = (value) => top + (height - top) * (1 - value / most);
  const low = group.low.map((value, k) => value ?? group.share[k]), high = group.high.map((value, k) => value ?? group.share[k]);
  const path = (values) => values.map((value, k) => `${x(k).toFixed(1)},${y(value).toFixed(1)}`);
  const best = group.share.indexOf(Math.max(...group.share));
  const says = `${group.name} by ${answer.by}: ${interval(group, 0)} at ${answer.values[0]}, ${interval(group, n - 1)} at ${answer.values[n - 1]}; most at ${answer.values[best]}, ${interval(group, best)}.`;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height + 4}`, role: "img", "aria-label": says },
    svg("polygon", { class: "band", points: [...path(high), ...path(low).reverse()].join(" ") }),
    svg("line", { class: "ground", x1: 0, x2: width, y1: height, y2: height }),
    svg("polyline", { class: "line", points: path(group.share).join(" ") }),
    ...group.share.map((value, k) => {
      const dot = svg("circle", { cx: x(k), cy: y(value), r: n > 30 ? 1.5 : 3 });
      dot.append(svg("title", {}, document.createTextNode(`${answer.values[k]}: ${interval(group, k)}, ${plural(answer.objects[k], "object")}`)));
      return dot;
    }));
  return h("div", null, drawing, h("div.ends", null, h("span", null, answer.values[0]), h("span", null, `most ${percent(group.share[best])}`), h("span", null, n > 1 && answer.values[n - 1])));
}

// -- the tree

export function tree(place, { params, page }) {
  page.up = "#/";
  const shown = h("div");
  replace(place, heading("Tree"), shown);
  fill(shown, async () => {
    const { kind, picker } = await chosen(params, "tree");
    const answer = await get(`/api/tree/${kind}`);
    const n = answer.groups.length;
    const slider = h("input", { type: "range", min: 1, max: n, step: 1, value: Math.min(Number(params.get("parts")) || Math.min(6, n), n), id: "parts", "data-entry": true });
    const says = h("output", { htmlFor: "parts" });
    const drawing = dendrogram(answer, kind);
    const parts = h("div");
    const draw = () => {
      const codes = cut(answer, Number(slider.value));
      const size = Number(slider.value);
      says.textContent = `${plural(size, "part")} of ${plural(n, kind, NAMES[kind])}`;
      slider.setAttribute("aria-valuetext", says.textContent);
      drawing.color(codes, size);
      replace(parts, h("ul.list", null, partsOf(answer, codes).map((members) => h("li.part", null, members.map((group) => h("a.badge", { href: `#/groups/${kind}/${group.index}` }, group.name)),
        members[0].size !== null && h("span.soft", null, plural(members.reduce((sum, group) => sum + group.size, 0), "object"))))));
      history.replaceState(null, "", hash("tree", { of: params.get("of"), parts: slider.value }));
    };
    slider.addEventListener("input", draw);
    slider.addEventListener("keydown", (event) => event.stopPropagation()); // the arrows are its own
    draw();
    return h("div", null, picker,
      h("p.soft", null, `${NAMES[kind][0].toUpperCase()}${NAMES[kind].slice(1)} are joined where their features are alike, in all views; further to the left, what differs more. Cut the tree into fewer, larger parts.`),
      h("div.row", null, h("label", { htmlFor: "parts" }, "Cut into"), slider, says),
      h("div.card.scrolling", null, drawing.element), h("section", null, h("h2", null, "Parts"), parts));
  }, "Comparing the groups ...");
}

/** The part of each group when the tree is cut: all joins but the last ones are made. */
export function cut(answer, parts) {
  const n = answer.groups.length;
  const of = Array.from({ length: n + answer.joins.length }, (_, k) => k);
  const top = (k) => (of[k] === k ? k : top(of[k]));
  answer.joins.slice(0, n - parts).forEach(([a, b], j) => { of[top(a)] = of[top(b)] = n + j; });
  const numbers = new Map();
  return answer.groups.map((_, k) => {
    if (!numbers.has(top(k))) numbers.set(top(k), numbers.size);
    return numbers.get(top(k));
  });
}

function partsOf(answer, codes) {
  const found = [];
  answer.order.forEach((k) => (found[codes[k]] ||= []).push(answer.groups[k]));
  return found.sort((a, b) => b.reduce((sum, group) => sum + (group.size || 0), 0) - a.reduce((sum, group) => sum + (group.size || 0), 0));
}

function dendrogram(answer, kind) {
  const n = answer.groups.length, width = 420;
  const farthest = Math.max(...answer.joins.map(([, , at]) => at), 1e-9);
  const x = (at) => width - (width - LEFT) * at / farthest;
  const spots = []; // of each node: where it is, and its groups
  answer.order.forEach((k, row) => { spots[k] = { x: width, y: ROW * (row + 0.5), members: [k] }; });
  const lines = answer.joins.map(([a, b, at], j) => {
    const [one, other] = [spots[a], spots[b]], here = x(at);
    spots[n + j] = { x: here, y: (one.y + other.y) / 2, members: [...one.members, ...other.members] };
    const line = svg("path", { d: `M${one.x},${one.y}H${here}V${other.y}H${other.x}` });
    line.append(svg("title", {}, document.createTextNode(`Joined at ${at.toFixed(2)}: ${plural(spots[n + j].members.length, kind, NAMES[kind])}`)));
    return line;
  });
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${ROW * n}`, width, height: ROW * n, role: "img", "aria-label": `Tree of ${plural(n, kind, NAMES[kind])}; the parts are listed below` }, ...lines);
  const short = (name) => (name.length > NAME_LETTERS ? `${name.slice(0, NAME_LETTERS - 2)} ...` : name);
  const leaves = answer.order.map((k) => h("li", null, h("a", { href: `#/groups/${kind}/${k}`, title: answer.groups[k].name }, h("span.dot"), short(answer.groups[k].name)),
    answer.groups[k].size !== null && h("span.soft", null, count(answer.groups[k].size))));
  const color = (codes, size) => {
    answer.joins.forEach((_, j) => {
      const { members } = spots[n + j], made = j < n - size;
      lines[j].setAttribute("class", made ? `join p${codes[members[0]] % 10}` : "join open");
    });
    answer.order.forEach((k, row) => { leaves[row].className = `p${codes[k] % 10}`; });
  };
  return { element: h("div.dendrogram", null, drawing, h("ul", null, leaves)), color };
}
