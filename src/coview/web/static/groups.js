// Groups, and each on a page of its own: its features by view, where it is prevalent, how well it holds together, who is in it.

import { get, section, sections } from "./api.js";
import { editor, renamer } from "./edit.js";
import { title } from "./overview.js";
import { NOUNS, capital, contentOf, count, empty, entry, features, fill, folded, groupHref, h, heading, objectHref, objectLine, objectName, opensFirst, percent, plural, put, replace, svg, viewClass, viewName } from "./ui.js";

const GROUPS = 36; // cards at a time
const MEMBERS = 30; // objects at a time

export function groupList(place, { model, page }, wanted) {
  page.up = "#/";
  const at = wanted ?? model.sorter ?? model.shown[0].at;
  const shown = model.shown.find((one) => one.at === at);
  const list = h("div");
  const field = h("input", { type: "search", placeholder: "Filter by word ...", "data-search": true, ariaLabel: "Filter", onkeydown: opensFirst });
  replace(place, heading(shown ? capital(NOUNS[shown.kind]) : "Groups"),
    model.shown.length > 1 && h("div.picker", { role: "group", ariaLabel: "Groups of" }, model.shown.map((one) =>
      h("a.button", { href: `#/groups/${one.at}`, class: one.at === at ? "on" : "", "aria-current": one.at === at ? "true" : null }, `${NOUNS[one.kind]}, ${one.model}`))),
    h("div.row", null, field), list);
  if (!shown) return replace(list, empty("None here", "This model has no groups."));
  fill(list, async () => {
    const [{ groups, group_names: names, topics }, edits] = await Promise.all([sections(at, "groups", "group_names", "topics"), get("/api/edits")]);
    if (!groups) return empty("No features to show", "Start the explorer with data to see what makes these groups.");
    if (groups.noun === "component") return endCards(groups);
    const editing = edits.editable && edits.at === at ? editor(groups, names, edits, page) : null;
    const cards = h("div");
    const draw = () => replace(cards, cardsOf(groups, names, at, field.value.trim().toLowerCase(), editing));
    field.addEventListener("input", draw);
    draw();
    return h("div", null, editing && editing.element, cards, topics && topicsOf(topics));
  }, "Sorting the objects ...");
}

function cardsOf(groups, names, at, query, editing) {
  const called = (item) => names[item.name] || title(groups.noun, item.name);
  const fits = (item) => !query || called(item).toLowerCase().includes(query)
    || Object.values(item.features).some((list) => list.some(([name]) => String(name).toLowerCase().includes(query)));
  const shown = groups.items.filter(fits);
  if (!shown.length) return empty("No matches", `No ${groups.noun} has such a word among its strongest features.`);
  return folded(shown, (item) => h("div.card.group", null,
    h("h3", null, editing && editing.box(item), h("a", { href: groupHref(at, item.name), "data-entry": true }, called(item)),
      h("span.tail", null, names[item.name] && h("span.key", null, `${groups.noun} ${item.name}`), item.size !== undefined && h("span.badge", null, count(item.size)))),
    h("div.columns", null, shownViews(item.features, groups.deviations).map(([view, list]) => h("div", null, viewName(view), features(list, view, groups.deviations[view], 5))))), GROUPS, h("div.grid"));
}

/** Some views in which a group has features: of measurements those where it lies farthest from the mean. */
const shownViews = (byView, deviations = {}, most = 4) => {
  const distance = ([view, list]) => (deviations[view] ? Math.abs(list[0][1]) : 1e9);
  return Object.entries(byView).filter(([, list]) => list.length).sort((a, b) => distance(b) - distance(a)).slice(0, most);
};

/** Components: what stands at either end. */
export const endCards = (groups, most = GROUPS) => folded(groups.items, (item) => h("div.card.group", null, h("h3", null, item.name),
  h("div.columns", null, shownViews(item.features).map(([view, list]) => h("div", null, viewName(view), features(list, view, false, 5))))), most, h("div.grid"));

const topicsOf = (topics) => h("section", null, h("h2", null, "Topics of each view"), Object.entries(topics.items).map(([view, items]) =>
  h("details.card", null, h("summary", null, viewName(view), ` ${plural(topics.count[view], "topic")}`),
    h("div.grid", null, items.map((topic) => h("div", null, h("h3", null, `topic ${topic.name}`, h("span.badge", null, percent(topic.mass))), features(topic.features, view, false, 6)))))));

// -- one group

export function group(place, { model, page }, at, key) {
  page.up = `#/groups/${at}`;
  fill(place, async () => {
    const [{ groups, group_names: names, examples }, edits] = await Promise.all([sections(at, "groups", "group_names", "examples"), get("/api/edits")]);
    const position = groups && groups.noun !== "component" ? groups.items.findIndex((item) => item.name === key) : -1;
    if (position < 0) return empty("There is no such group", h("a", { href: `#/groups/${at}` }, "See them all"));
    const item = groups.items[position], name = names[key] || title(groups.noun, key);
    if (position > 0) page.left = groupHref(at, groups.items[position - 1].name);
    if (position + 1 < groups.items.length) page.right = groupHref(at, groups.items[position + 1].name);
    const editable = edits.editable && edits.at === at;
    const head = heading(name, names[key] && h("span.key", null, `${groups.noun} ${key}`), editable && renamer(groups, names, item, edits, page),
      h("p.lead", null, item.size !== undefined && `${plural(item.size, "object")}, ${percent(item.share)}`, item.label && `; mostly ${item.label.name}, ${percent(item.label.share)}`), steps(page));
    const deviations = Object.keys(groups.deviations).filter((view) => groups.deviations[view]).flatMap((view) => item.features[view] || []);
    const farthest = Math.max(...deviations.map(([, weight]) => Math.abs(weight))); // one scale for all views
    const near = Object.entries(examples ? examples.nearest : {}).filter(([, found]) => found[key]);
    const cards = [
      ...shownViews(item.features, groups.deviations, Infinity).map(([view, list]) => h("div.card", null, h("h2", null, viewName(view)),
        groups.deviations[view] && h("p.soft", null, "Standard deviations above (+) or below (\u2212) the mean of all objects"), features(list, view, groups.deviations[view], 10, groups.deviations[view] ? farthest : 0))),
      ...near.map(([view, found]) => h("div.card", null, h("h2", null, viewName(view)), h("p.soft", null, "Objects nearest to the mean vector"),
        h("ul.typical", null, found[key].map((thing) => h("li", null, h("a", { href: objectHref(thing.id) }, objectName(thing.id)), " ", h("span.soft", null, contentOf(thing)))))))];
    return h("div", null, head, editable && editor(groups, names, edits, page, item).element,
      cards.length ? h("section.cards", null, cards) : Object.keys(item.features).length ? empty("No feature sets it apart", "It is about average in all of them.")
        : empty("No features to show", "Start the explorer with data to see what makes this group."),
      updates(at, key), model.columns.length > 0 && prevalence(model, at, key), model.columns.length > 0 && effects(model, at, key), quality(at, key),
      h("section", null, h("h2", null, "Objects"), h("p.soft", null, "The typical ones first."), members(at, key)));
  }, "Sorting the objects ...");
}

export const steps = (page) => h("div.steps", null,
  h("a.button", { href: page.left, class: page.left ? "" : "off", ariaLabel: "Previous" }, "←"),
  h("a.button", { href: page.right, class: page.right ? "" : "off", ariaLabel: "Next" }, "→"));

function members(at, key) {
  const place = h("div"), list = h("ul.list"), more = h("button", { type: "button" }, "Show more");
  let start = 0;
  const load = async () => {
    const answer = await get(`/api/members/${at}?${new URLSearchParams({ key, start, count: MEMBERS })}`);
    if (!answer.total) return empty("No objects", "The model file holds no objects of this group. Start the explorer with data to see them.");
    list.append(...answer.members.map((member) => entry(member.id, true, objectLine(member), answer.probabilities && h("span.value", null, percent(member.share)))));
    start += answer.members.length;
    more.hidden = start >= answer.total;
    return h("div", null, list, more);
  };
  more.addEventListener("click", () => load());
  fill(place, load);
  return place;
}

// -- quality

function quality(at, key) {
  const place = h("section");
  section(at, "quality").then((found) => {
    const own = found && found.groups.find((row) => row.key === key);
    const views = own ? found.views.filter((view) => own.npmi[view.name] !== null) : [];
    if (!views.length) return;
    const rank = (name) => found.groups.filter((row) => (row.npmi[name] ?? -2) > own.npmi[name]).length + 1;
    replace(place, h("div.card", null, h("h2", null, "Quality"),
      h("p.soft", null, `Do its ${found.n_features} strongest features occur in the same objects? NPMI: 1 is always, 0 is chance, below 0 is less often than by chance.`),
      h("ul", null, views.map((view) => h("li", null, viewName(view.name), ` ${own.npmi[view.name].toFixed(2).replace("-", "\u2212")}, `, h("span.soft", null, `rank ${rank(view.name)} of ${found.groups.length}; mean ${view.npmi.toFixed(2).replace("-", "\u2212")}`))))));
  }, () => {}); // it is no part that the others need
  return place;
}

// -- prevalence

function prevalence(model, at, key) {
  const column = h("select", { ariaLabel: "By" }, model.columns.map((name) => h("option", { value: name }, `by ${name}`)));
  const place = h("div");
  const draw = () => fill(place, async () => {
    const found = await get(`/api/describe/${at}/prevalence?${new URLSearchParams({ by: column.value })}`);
    const row = found ? found.groups.indexOf(key) : -1;
    if (row < 0) return empty("Nothing to compare", "The model does not say how much each object belongs to this group.");
    const group = { share: found.share[row], low: found.low[row], high: found.high[row] };
    return h("div", null, found.kind === "category" ? bars(found, group) : band(found, group),
      h("p.soft", null, "Its mean share in the objects of each value, with 95 % intervals.", found.without > 0 && ` ${plural(found.without, "object")} without a value ${found.without === 1 ? "is" : "are"} left out.`));
  }, "Comparing the objects ...");
  column.addEventListener("change", draw);
  draw();
  return h("section", null, h("div.card.prevalence", null, h("h2", null, "Prevalence", column), place));
}

// -- updates

function updates(at, key) {
  const place = h("section");
  section(at, "model").then((found) => {
    const own = (found.updates || []).flatMap((update, k) => update.events.filter((event) => event.group === key).map((event) => [k, update, event]));
    if (own.length) replace(place, h("div.card", null, h("h2", null, "Updates"), h("ul", null, own.map(([k, update, event]) =>
      h("li", null, h("b", null, event.event), ` in update ${k + 1} of ${plural(update.n_objects, "object")} `, h("span.soft", null, event.evidence))))));
  }, () => {}); // it is no part that the others need
  return place;
}

// -- effects

function effects(model, at, key) {
  const formula = h("input", { type: "text", ariaLabel: "Formula", value: `~ ${model.columns[0].match(/^[\w.-]+$/) ? model.columns[0] : `\`${model.columns[0]}\``}`, maxLength: 300 });
  const clusters = h("input", { type: "text", ariaLabel: "Clusters", placeholder: "Clusters: a column", maxLength: 100 });
  const place = h("div", null, h("p.soft", null, "Covariates with + between them, such as ~ party + spline(date); clusters are rows that belong together, such as the paragraphs of a speech."));
  const points = (value) => {
    const size = 100 * Math.abs(value);
    return `${value < 0 ? "\u2212" : "+"}${size < 0.1 && size ? Number(size.toPrecision(2)) : size.toFixed(1)}`;
  };
  const compare = () => fill(place, async () => {
    const found = await get(`/api/describe/${at}/effects?${new URLSearchParams({ formula: formula.value, clusters: clusters.value.trim() })}`);
    const g = found.groups.indexOf(key);
    return h("div", null, h("ul", null, found.terms.map((term) => h("li", null, term.label, ` ${points(term.effect[g])} `,
      term.low[g] !== null && h("span.soft", null, `(${points(term.low[g])} to ${points(term.high[g])})`)))),
    h("p.soft", null, `Change of its share in percentage points, the rest held equal, with 95 % intervals; ${plural(found.n_objects, "object")}${clusters.value.trim() && ` in ${plural(found.n_clusters, "cluster")}`}.`));
  }, "Comparing the objects ...");
  return h("section", null, h("div.card", null, h("h2", null, "Effects"),
    h("form.row", { onsubmit: (event) => { event.preventDefault(); compare(); } }, formula, clusters, h("button", null, "Compare")), place));
}

const interval = (group, k) => (group.low[k] === null ? percent(group.share[k]) : `${percent(group.share[k])} (${percent(group.low[k])} to ${percent(group.high[k])})`);

function bars(found, group) {
  const most = Math.max(...group.high.map((value, k) => value ?? group.share[k] ?? 0), 1e-6);
  return h("ul.bars", null, found.values.map((value, k) => {
    const whisker = h("span.whisker");
    if (group.low[k] !== null) {
      whisker.style.left = `${100 * group.low[k] / most}%`;
      whisker.style.width = `${100 * (group.high[k] - group.low[k]) / most}%`;
    }
    return h("li", null, h("span.name", null, value, h("span.soft", null, ` (${count(found.n_objects[k])})`)),
      h("span.track", null, h("span.bar", { "width%": 100 * (group.share[k] ?? 0) / most }), whisker), h("span.value", { title: interval(group, k) }, group.share[k] === null ? "\u2013" : percent(group.share[k])));
  }));
}

/** A line with a band over values in order, with percent on the left. */
function band(found, group) {
  const [width, height, n] = [600, 180, found.values.length];
  const known = found.values.map((_, k) => k).filter((k) => group.share[k] !== null);
  const most = Math.max(...known.map((k) => group.high[k] ?? group.share[k]), 1e-6);
  const x = (k) => (n > 1 ? k * width / (n - 1) : width / 2), y = (value) => height * (1 - value / most);
  const path = (values) => known.map((k) => `${x(k).toFixed(1)},${y(values[k] ?? group.share[k]).toFixed(1)}`);
  const best = known.reduce((a, k) => (group.share[k] > group.share[a] ? k : a), known[0]);
  const says = `Most at ${found.values[best]}: ${interval(group, best)}`;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": says, preserveAspectRatio: "none" },
    ...[0, 0.5, 1].map((part) => svg("line", { class: "ground", x1: 0, x2: width, y1: y(part * most), y2: y(part * most) })),
    svg("polygon", { class: "band", points: [...path(group.high), ...path(group.low).reverse()].join(" ") }),
    svg("polyline", { class: "line", points: path(group.share).join(" ") }));
  return h("div.chart", null, h("div.scale", { "aria-hidden": "true" }, [1, 0.5, 0].map((part) => h("span", null, percent(part * most)))), h("div", null, drawing,
    h("div.ends", null, h("span", null, found.values[0]), h("span", null, says), n > 1 && h("span", null, found.values[n - 1]))));
}
