// The first page: what the model is, what it takes, where to go.

import { get, groups } from "./api.js";
import { groupTitle, nearestLines } from "./groups.js";
import { map } from "./map.js";
import { features, fill, h, hash, heading, plural, replace, viewName } from "./ui.js";

export function overview(place, { model, page }) {
  const can = new Set(model.can);
  const facts = [
    model.objects && plural(model.objects, "object"),
    plural(model.views.length, "view"),
    model.classes && plural(model.classes.length, "class", "classes"),
  ].filter(Boolean);
  const kind = ["class", "cluster", "topic"].find((name) => model.kinds.includes(name));
  const teaser = h("div");
  const places = h("div");
  replace(place,
    heading(model.title, h("p.lead", null, facts.join(" · "))),
    can.has("search") && quickSearch(),
    can.has("map") && h("section", null, h("div.card", null, h("h2", null, h("a", { href: "#/map" }, "Map")), places)),
    h("section.cards", null,
      card("Views", h("table.plain", null, model.views.map((view) => h("tr", null,
        h("td", null, viewName(view.name)),
        h("td.number", null, plural(view.features, "feature")),
        h("td", null, takes(view))))),
        h("details", null, h("summary", null, `Parameters of ${model.model}`), h("table.plain", null,
          Object.entries(model.parameters).map(([name, value]) => h("tr", null, h("td", null, h("code", null, name)),
            h("td", null, value === null ? "none" : typeof value === "object" ? JSON.stringify(value) : String(value))))))),
      card(model.models.length > 1 ? "Models" : "Model", ...model.models.map((name, i) => h("p.model", null,
        h("code", null, name), i === 0 && model.n_iter ? h("span.soft", null, ` ${plural(model.n_iter, "iteration")}`) : null)),
        model.choice && h("p.soft", null, model.choice))),
    kind && h("section", null, h("h2", null, h("a", { href: `#/groups/${kind}` },
      { class: "Classes", cluster: "Clusters", topic: "Topics" }[kind])), teaser),
    !model.objects && h("p.soft", null, "The model file holds no objects. Start the explorer with data to see them: ",
      h("code", null, "coview explore model.coview data/")));
  if (can.has("map")) fill(places, async () => map(await get("/api/map"), page.signal), "Placing the objects ...");
  if (kind) fill(teaser, async () => largest((await groups()).find((part) => part.kind === kind), kind), "Sorting the objects ...");
}

function quickSearch() {
  const field = h("input", { type: "search", placeholder: "Describe what you are looking for ...", "data-search": true,
    ariaLabel: "Search", autocomplete: "off" });
  return h("form.search.big", { onsubmit: (event) => {
    event.preventDefault();
    location.hash = hash("search", { q: field.value.trim() });
  } }, field, h("button.primary", null, "Search"));
}

function takes(view) {
  const likelihood = { gaussian: ", Gaussian", multinomial: ", multinomial" }[view.likelihood] || "";
  return h("span.soft", null, (view.takes.includes("text") ? "takes text" : view.named ? "named features" : "numbers") + likelihood + (view.unused ? ", not used" : ""));
}

const card = (name, ...children) => h("div.card", null, h("h2", null, name), children);

function largest(part, kind) {
  const shown = [...part.groups].sort((a, b) => (b.size || 0) - (a.size || 0)).slice(0, 6);
  return h("div.grid", null, shown.map((group) => h("a.card.group", { href: `#/groups/${kind}/${group.index}`, "data-entry": true },
    groupTitle(kind, group),
    h("div.columns", null, Object.entries(group.views).map(([view, list]) =>
      h("div", null, viewName(view), features(list, view, 5))), nearestLines(group, 3)))));
}
