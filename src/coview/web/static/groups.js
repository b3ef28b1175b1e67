// Classes, clusters, topics and components by view, and who belongs to them.

import { get, groups } from "./api.js";
import { editor } from "./edit.js";
import { count, empty, entry, features, fill, folded, h, hash, heading, objectLine, opensFirst, percent, plural, put, replace, viewName } from "./ui.js";

const MANY = { class: "Classes", cluster: "Clusters", topic: "Topics", component: "Components" };
const GROUPS = 36; // cards at a time
const ABOUT = {
  class: "What the model learned about each class, by view.",
  cluster: "Groups that the model found, by view.",
  topic: "Features that occur together, by view. The most typical come first.",
  component: "Directions in which the views vary together: features of high values stand at one end, of low values at the other.",
};

export function groupList(place, { params, page }, kind) {
  page.up = "#/";
  const list = h("div");
  const field = h("input", { type: "search", placeholder: "Filter by word ...", "data-search": true, ariaLabel: "Filter", value: params.get("q") || "", onkeydown: opensFirst });
  const order = h("select", { ariaLabel: "Order" }, h("option", { value: "size" }, "largest first"), h("option", { value: "index" }, "in order"));
  replace(place, heading(MANY[kind] || "Groups", h("p.lead", null, ABOUT[kind] || "")), h("div.row", null, field, order), list);
  fill(list, async () => {
    const [parts, edits] = await Promise.all([groups(), get("/api/edits")]);
    const part = parts.find((one) => one.kind === kind);
    if (!part || !part.groups.length) return empty("None here", "This model has no groups of that kind.");
    if (part.groups.every((group) => group.size === null)) order.remove();
    const editable = edits.editable && edits.kind === kind && !part.apart;
    const editing = editable && params.get("edit") ? editor(part, edits, page) : null;
    if (editable) field.parentElement.append(h("a.button", { href: hash(`groups/${kind}`, { edit: editing ? "" : 1 }), class: editing ? "on" : "" }, editing ? "Stop editing" : "Edit"));
    const shown = h("div");
    const draw = () => replace(shown, cards(part, field.value.trim().toLowerCase(), order.isConnected ? order.value : "index", editing));
    field.addEventListener("input", draw);
    order.addEventListener("change", draw);
    draw();
    return editing ? h("div", null, editing.element, shown) : shown;
  }, "Sorting the objects ...");
}

function cards(part, query, order, editing) {
  const fits = (group) => !query || group.name.toLowerCase().includes(query)
    || Object.values(group.views).some((list) => list.some(([name]) => name.toLowerCase().includes(query)));
  const shown = part.groups.filter(fits);
  if (order === "size") shown.sort((a, b) => (b.size || 0) - (a.size || 0));
  if (!shown.length) return empty("No matches", `No ${part.kind} has such a word among its strongest features.`);
  return folded(shown, (group) => {
    const to = part.apart ? (group.used_by.length ? `#/groups/${group.of}/${group.used_by[0][1]}` : null) : `#/groups/${part.kind}/${group.index}`;
    const choose = editing && h("label.choose", null, editing.box(group), " choose");
    const card = editing ? h("div.card.group") : h(to ? "a.card.group" : "div.card.group", { href: to, "data-entry": true, tabIndex: 0 });
    return put(card, [choose,
      groupTitle(part.kind, group),
      h("div.columns", null, Object.entries(group.views).map(([view, list]) => h("div", null, viewName(view), features(list, view, Object.keys(group.views).length > 2 ? 5 : 8))),
        nearestLines(group, 4)),
      group.used_by && group.used_by.length > 0 && h("p.soft", null, "in ", group.used_by.map(([name, , share]) => `${name} (${percent(share)})`).join("; "))]);
  }, GROUPS, h("div.grid"));
}

/** Views of vectors, whose columns have no names: the objects nearest to the group's mean vector. */
export const nearestLines = (group, most) => Object.entries(group.nearest || {}).map(([view, list]) => h("div", null, viewName(view),
  h("ul.nearest", null, list.slice(0, most).map((one) => h("li", null, objectLine(one))))));

/** The number of a group that is named by its features. */
export const numbered = (kind, group) => kind !== "class" && group.name !== `${kind} ${group.key}` && h("span.key", null, `${kind} ${group.key}`);

export const groupTitle = (kind, group) => h("h3", null, group.name, h("span.tail", null, numbered(kind, group),
  group.size !== null && h("span.badge", null, count(group.size))));

export function group(place, { model, page }, kind, index) {
  page.up = `#/groups/${kind}`;
  fill(place, async () => {
    const part = (await groups()).find((one) => one.kind === kind);
    const shown = part && !part.apart && part.groups[index];
    if (!shown) return empty("There is no such group", h("a", { href: `#/groups/${kind}` }, "See them all"));
    if (index > 0) page.left = `#/groups/${kind}/${index - 1}`;
    if (index + 1 < part.groups.length) page.right = `#/groups/${kind}/${index + 1}`;
    const names = Object.keys(shown.views), vectors = Object.entries(shown.nearest || {});
    return h("div", null,
      heading(shown.name, numbered(kind, shown),
        h("p.lead", null, shown.size !== null ? `${plural(shown.size, "object")} of ${count(model.objects)}` : `of ${part.model}`),
        steps(page)),
      names.length + vectors.length ? h("section.cards", null, names.map((view) => h("div.card", null, h("h2", null, viewName(view)),
        (part.deviations || []).includes(view) && h("p.soft", null, "Standard deviations above or below the mean of all objects"),
        features(shown.views[view], view))),
      vectors.map(([view, list]) => h("div.card", null, h("h2", null, viewName(view)), h("p.soft", null, "Objects nearest to the mean vector"),
        h("ul.list", null, list.map((one) => entry(one.id, true, objectLine(one))))))) : empty("No features to show", "This model has no feature weights. Start the explorer with data to see features."),
      h("section", null, h("h2", null, kind === "component" ? "At one end" : "Most typical objects"), members(kind, index)));
  }, "Sorting the objects ...");
}

export const steps = (page) => h("div.steps", null,
  h("a.button", { href: page.left, class: page.left ? "" : "off", ariaLabel: "Previous" }, "←"),
  h("a.button", { href: page.right, class: page.right ? "" : "off", ariaLabel: "Next" }, "→"));

function members(kind, index) {
  const place = h("div");
  const list = h("ul.list");
  const more = h("button", { type: "button" }, "Show more");
  let start = 0;
  const load = async () => {
    const answer = await get(`/api/groups/${kind}/${index}?start=${start}&count=30`);
    if (!answer.total) return empty("No objects", "The model file holds no objects of this group. Start the explorer with data to see them.");
    list.append(...answer.members.map((member) => entry(member.id, true,
      objectLine(member), (kind === "component" || answer.probabilities) && h("span.value", null, kind === "component" ? member.share.toFixed(2) : percent(member.share)))));
    start += answer.members.length;
    more.hidden = start >= answer.total;
    return h("div", null, list, more);
  };
  more.addEventListener("click", () => load());
  fill(place, load);
  return place;
}
