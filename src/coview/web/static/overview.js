// The first page: what is in the data, the map beside it; how it was made comes last, in words.

import { section, sections } from "./api.js";
import { endCards } from "./groups.js";
import { colorOf, map } from "./map.js";
import { NOUNS, contentOf, count, empty, fill, folded, groupHref, h, hash, heading, loading, objectHref, objectName, percent, plural, replace } from "./ui.js";

const FIRST = 8; // groups at a time

export function overview(place, { model }) {
  const at = model.sorter ?? (model.shown.length ? model.shown[0].at : 0);
  const others = model.shown.filter((one) => one.at !== at);
  const body = h("div"), made = h("section");
  replace(place, heading(model.title), model.objects > 0 && search(model), body,
    others.length > 0 && h("p.soft", null, "Also: ", others.map((one, i) => [i > 0 && ", ", h("a", { href: `#/groups/${one.at}` }, `${NOUNS[one.kind]} of ${one.model}`)])),
    made);
  fill(body, () => groupsAndMap(at, model), "Sorting the objects ...");
  fill(made, async () => {
    const how = await section(at, "model");
    return h("div.card", null, h("h2", null, "How it was made"), h("p", null, how.words), h("p", null, h("a", { href: "#/model" }, "More on the model")));
  });
}

function search(model) {
  const field = h("input", { type: "search", placeholder: model.can.includes("search") ? "Describe what you are looking for ..." : "Find objects by a name or words ...", "data-search": true, ariaLabel: "Search", autocomplete: "off" });
  return h("form.search.big", { onsubmit: (event) => {
    event.preventDefault();
    location.hash = hash("objects", { q: field.value.trim() });
  } }, field, h("button.primary", null, "Search"));
}

async function groupsAndMap(at, model) {
  const { groups, group_names: names, data, model: how } = await sections(at, "groups", "group_names", "data", "model");
  const used = data.views.map((view) => view.name).filter((name) => !data.unused.includes(name));
  const named = used.length > 6 ? `${used.slice(0, 6).join(", ")} and ${used.length - 6} more` : used.join(", ");
  const objects = data.n_objects === null ? "Objects" : plural(data.n_objects, "object");
  const lead = h("p.lead", null, `${objects}${groups ? ` in ${plural(groups.count, groups.noun, NOUNS[groups.noun])}` : ""}, from ${plural(used.length, "view")}: ${named}.`,
    data.unused.length > 0 && ` Not used: ${data.unused.join(", ")}.`, how.doubt && ` ${how.doubt}`);
  const beside = h("div.beside");
  const left = !groups ? null : groups.noun === "component" ? endCards(groups, 4) : h("div");
  if (model.objects > 0) {
    fill(beside, async () => {
      const chart = await section(at, "map");
      return chart === null ? null : map(chart, groups && groups.noun !== "component" ? groups.items : [], at, names);
    }, "Placing the objects ...");
  }
  if (groups && groups.noun !== "component") {
    replace(left, loading("Choosing typical objects ..."));
    section(at, "examples").then((examples) => replace(left, groupLines(groups, names, examples, at, beside)), (error) => replace(left, empty("No typical objects", error.message)));
  }
  return h("div", null, lead,
    h(left ? "div.first" : "div", null, left, model.objects > 0 && beside),
    !model.objects && h("p.soft", null, "The model file holds no objects. Start the explorer with data to see them: ", h("code", null, "coview explore model.coview data/")));
}

function groupLines(groups, names, examples, at, beside) {
  const typical = new Map((examples ? examples.typical : []).map((part) => [part.group, part.objects]));
  const largest = Math.max(...groups.items.map((item) => item.share ?? 0), 1e-9);
  const light = (index) => { const drawn = beside.querySelector(".map"); if (drawn) drawn.light(index); };
  return folded(groups.items, (item) => h("article.group", { onpointerenter: () => light(item.index), onpointerleave: () => light(null) },
    h("h3", null, h("a", { href: groupHref(at, item.name), "data-entry": true }, h("span.dot", { class: colorOf(item.index) }), names[item.name] || title(groups.noun, item.name)),
      names[item.name] && h("span.key", null, `${groups.noun} ${item.name}`),
      item.size !== undefined && h("span.size", null, `${count(item.size)} · ${percent(item.share)}`)),
    item.share !== undefined && h("span.track", { class: colorOf(item.index) }, h("span.bar", { "width%": 100 * item.share / largest })),
    item.label && h("p.soft", null, `mostly ${item.label.name}, ${percent(item.label.share)}`),
    item.about.length > 0 && h("p", null, item.about.join(", ")),
    h("ul.typical", null, (typical.get(item.name) || []).slice(0, 2).map((thing) =>
      h("li", null, h("a", { href: objectHref(thing.id) }, objectName(thing.id)), " ", h("span.soft", null, contentOf(thing)))))), FIRST);
}

export const title = (noun, key) => (noun === "class" ? key : `${noun} ${key}`);
