// Objects: a list to pick from, and one object from all its views.

import { get } from "./api.js";
import { chips, count, empty, entry, fill, h, hash, heading, objectHref, objectLine, objectName, opensFirst, pager, plural, replace, shares, unusedViews, viewClass, viewName } from "./ui.js";
import { steps } from "./groups.js";

export function objectList(place, { params, page }) {
  page.up = "#/";
  const query = params.get("q") || "";
  const start = Number(params.get("start")) || 0;
  const field = h("input", { type: "search", value: query, placeholder: "Part of a name ...", "data-search": true, ariaLabel: "Filter by name",
    onkeydown: (event) => { if (event.key === "Enter" && drawn === field.value.trim()) opensFirst(event); } });
  const list = h("div");
  let waiting = null;
  let asked = 0;
  let drawn = null; // the text whose objects are shown
  const draw = (text, from) => {
    const mine = ++asked;
    fill(list, async () => {
      const answer = await get(`/api/objects?${new URLSearchParams({ q: text, start: from })}`);
      if (mine !== asked) return list.firstChild;
      drawn = text;
      return table(answer, text);
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
  if (!answer.total) return empty("No such object", query ? `No name contains “${query}”.` : "There are no objects to show.",
    answer.similar.length > 0 && [" Did you mean ", answer.similar.map((id, i) => [i > 0 && " or ", h("a", { href: objectHref(id) }, objectName(id))]), "?"]);
  return h("div", null,
    h("p.soft.summary", null, `${count(answer.start + 1)} to ${count(answer.start + answer.objects.length)} of ${count(answer.total)}`),
    h("ul.list", null, answer.objects.map((one) => entry(one.id, true, objectLine(one), one.label && h("span.badge", null, one.label)))),
    pager(answer, (start) => hash("objects", { q: query, start })));
}

export function objectPage(place, { model, page }, id) {
  page.up = "#/objects";
  fill(place, async () => {
    let object;
    try {
      object = await get(`/api/object?${new URLSearchParams({ id })}`);
    } catch (error) {
      if (error.status !== 422) throw error; // not a refusal
      heading(id);
      return empty("There is no such object", error.message, " ", h("a", { href: hash("objects", { q: id }) }, "Search by name"));
    }
    if (object.before !== null) page.left = objectHref(object.before);
    if (object.after !== null) page.right = objectHref(object.after);
    return h("div", null,
      heading(String(object.id), h("p.lead", null, `Object ${count(object.row + 1)} of ${count(model.objects)}`), steps(page)),
      object.columns.length > 0 && record(object.columns, object.id),
      object.opinions.map((one) => opinions(one, model)),
      object.views.length
        ? h("section", null, h("h2", null, "Views"), h("div.cards", null, object.views.map((view) => viewCard(view, object.columns.length > 0))))
        : empty("Only predictions", "The model file holds no features of its objects. Start the explorer with the data to see them."),
      object.near.length > 0 && near(object.near));
  }, "Predicting from each view ...");
}

const LONG = 600; // characters of a cell that are shown at once

/** All columns of the table. */
function record(columns, id) {
  const shown = columns.filter(([, value]) => String(value) !== String(id));
  if (!shown.length) return null;
  return h("section", null, h("div.card", null, h("dl.record", null, shown.map(([name, value]) => [h("dt", null, name), h("dd", null, cell(value))]))));
}

function cell(value) {
  if (value === null || value === "") return h("span.soft", null, "nothing");
  const text = Array.isArray(value) ? value.join(", ") : String(value);
  if (text.length <= LONG) return text;
  const cut = text.lastIndexOf(" ", LONG);
  const rest = h("span", { hidden: true }, text.slice(cut > 0 ? cut : LONG));
  const dots = h("span", null, " ... ");
  const more = h("button.more", { type: "button", onclick: () => {
    rest.hidden = !rest.hidden;
    dots.hidden = !rest.hidden;
    more.textContent = rest.hidden ? "Show all" : "Show less";
  } }, "Show all");
  return [text.slice(0, cut > 0 ? cut : LONG), rest, dots, more];
}

function viewCard(view, recorded) {
  if (!view.present) return h("div.card.missing", { class: viewClass(view.name) }, h("h3", null, viewName(view.name)), h("p.soft", null, "This object lacks the view."));
  const text = recorded ? null : view.text; // the table has it already
  if (view.vector) {
    return h("div.card", { class: viewClass(view.name) },
      h("h3", null, viewName(view.name), h("span.soft", null, ` a vector of ${plural(view.total, "number")}`)), text && h("pre.text", null, text));
  }
  return h("div.card", { class: viewClass(view.name) },
    h("h3", null, viewName(view.name), h("span.soft", null, ` ${plural(view.total, "feature")}`)),
    text && h("pre.text", null, text),
    text ? h("details", null, h("summary", null, "Features"), chips(view.features, view.name)) : chips(view.features, view.name));
}

function opinions(predicted, model) {
  const names = Object.keys(predicted.by_view);
  const kind = predicted.pages ? predicted.kind : null;
  const tops = new Set(names.map((view) => predicted.by_view[view].length ? predicted.by_view[view][0][1] : null).filter((top) => top !== null));
  return h("section.opinion", null,
    h("h2", null, predicted.model, h("span.soft", null, ` predicts the ${predicted.kind}`),
      tops.size > 1 ? h("span.badge.warn", null, "views differ") : names.length > 1 && h("span.badge.good", null, "views agree")),
    unusedViews(predicted.unused),
    h("div.cards.three", null,
      predicted.together && h("div.card", null, h("h3", null, names.length ? "Together" : "Prediction"), shares(predicted.together, kind, null, predicted.probabilities)),
      names.map((view) => h("div.card", { class: viewClass(view) }, h("h3", null, viewName(view), " alone"),
        predicted.by_view[view].length ? shares(predicted.by_view[view], kind, view, predicted.probabilities) : h("p.soft", null, "No prediction.")))));
}

function near(list) {
  const shown = h("div");
  const tabs = h("div.picker");
  const pick = (at) => {
    [...tabs.children].forEach((tab, i) => tab.classList.toggle("on", i === at));
    replace(shown, list[at].hits.length ? h("ul.list", null, list[at].hits.map((hit) =>
      entry(hit.id, hit.known, objectLine(hit), h("span.value", null, hit.score.toFixed(3))))) : h("p.soft", null, "Nothing."));
  };
  tabs.append(...list.map((one, i) => h("button", { type: "button", class: one.target && viewClass(one.target), onclick: () => pick(i) },
    one.source === null ? "all views" : one.source === one.target ? `same ${one.source}` : `${one.source} → ${one.target}`)));
  pick(0);
  return h("section.near", null, h("h2", null, "Near it"), tabs, shown);
}
