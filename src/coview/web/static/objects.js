// Objects: a list to pick from, and one object from all its views.

import { get } from "./api.js";
import { chips, count, empty, entry, fill, h, hash, heading, objectName, pager, plural, replace, shares, viewClass, viewName } from "./ui.js";
import { steps } from "./groups.js";

export function objectList(place, { params, page }) {
  page.up = "#/";
  const query = params.get("q") || "";
  const start = Number(params.get("start")) || 0;
  const field = h("input", { type: "search", value: query, placeholder: "Part of a name ...", "data-search": true, ariaLabel: "Filter by name" });
  const list = h("div");
  let waiting = null;
  let asked = 0;
  const draw = (text, from) => {
    const mine = ++asked;
    fill(list, async () => {
      const answer = await get(`/api/objects?${new URLSearchParams({ q: text, start: from })}`);
      return mine === asked ? table(answer, text) : list.firstChild;
    });
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      history.replaceState(null, "", hash("objects", { q: field.value.trim() }));
      draw(field.value.trim(), 0);
    }, 150);
  });
  replace(place, heading("Objects"), h("div.row", null, field), list);
  draw(query, start);
}

function table(answer, query) {
  if (!answer.total) return empty("No such object", query ? `No name contains “${query}”.` : "There are no objects to show.");
  return h("div", null,
    h("p.soft.summary", null, `${count(answer.start + 1)} to ${count(answer.start + answer.objects.length)} of ${count(answer.total)}`),
    h("ul.list", null, answer.objects.map((one) => entry(one.row, objectName(one.id), one.label && h("span.badge", null, one.label)))),
    pager(answer, (start) => hash("objects", { q: query, start })));
}

export function objectPage(place, { model, page }, row) {
  page.up = "#/objects";
  if (row > 0) page.left = `#/object/${row - 1}`;
  if (row + 1 < model.objects) page.right = `#/object/${row + 1}`;
  fill(place, async () => {
    const object = await get(`/api/objects/${row}`);
    const predicted = object.opinions;
    return h("div", null,
      heading(String(object.id), h("p.lead", null, `Object ${count(row + 1)} of ${count(model.objects)}`), steps(page)),
      predicted && (predicted.together || Object.keys(predicted.by_view).length > 0) && opinions(predicted, model, row),
      object.views.length
        ? h("section.cards", null, object.views.map(viewCard))
        : empty("Only predictions", "The model file holds no features of its objects. Start the explorer with the data to see them."),
      object.near.length > 0 && near(object.near));
  }, "Predicting from each view ...");
}

function viewCard(view) {
  if (!view.present) return h("div.card.missing", { class: viewClass(view.name) }, h("h2", null, viewName(view.name)), h("p.soft", null, "This object lacks the view."));
  return h("div.card", { class: viewClass(view.name) },
    h("h2", null, viewName(view.name), h("span.soft", null, ` ${plural(view.total, "feature")}`)),
    view.text && h("pre.text", null, view.text),
    view.text ? h("details", null, h("summary", null, "Features"), chips(view.features, view.name, 60)) : chips(view.features, view.name, 60));
}

function opinions(predicted, model, row) {
  const names = Object.keys(predicted.by_view);
  const tops = new Set(names.map((view) => predicted.by_view[view].length && predicted.by_view[view][0][0]).filter(Boolean));
  return h("section", null,
    h("h2", null, "Predictions by view",
      tops.size > 1 ? h("span.badge.warn", null, "they differ") : names.length > 1 && h("span.badge.good", null, "they agree"),
      model.can.includes("ontology") && h("a.side-link", { href: hash("labels", { row }) }, "Try a label set")),
    h("div.cards.three", null,
      predicted.together && h("div.card", null, h("h3", null, "Together"), shares(predicted.together, predicted.kind)),
      names.map((view) => h("div.card", { class: viewClass(view) }, h("h3", null, viewName(view), " alone"),
        predicted.by_view[view].length ? shares(predicted.by_view[view], predicted.kind, view) : h("p.soft", null, "No prediction.")))));
}

function near(list) {
  const shown = h("div");
  const tabs = h("div.picker");
  const pick = (at) => {
    [...tabs.children].forEach((tab, i) => tab.classList.toggle("on", i === at));
    replace(shown, list[at].hits.length ? h("ul.list", null, list[at].hits.map((hit) =>
      entry(hit.row, objectName(hit.id), h("span.value", null, hit.score.toFixed(3))))) : h("p.soft", null, "Nothing."));
  };
  tabs.append(...list.map((one, i) => h("button", { type: "button", class: viewClass(one.target), onclick: () => pick(i) },
    one.source === one.target ? `same ${one.source}` : `${one.source} → ${one.target}`)));
  const first = list.findIndex((one) => one.source !== one.target);
  pick(Math.max(first, 0));
  return h("section", null, h("h2", null, "Near it"), tabs, shown);
}
