// Objects: all of them, those that a search finds, and one object from all its views.

import { get, post } from "./api.js";
import { chips, count, empty, entry, fill, folded, groupHref, h, hash, heading, objectHref, objectLine, objectName, opensFirst, pager, parts, plural, replace, shares, unusedViews, viewClass, viewName } from "./ui.js";
import { steps } from "./groups.js";

const HITS = 10;

export function objectList(place, { model, params, page }) {
  page.up = "#/";
  const query = params.get("q") || "", start = Number(params.get("start")) || 0;
  const near = model.can.includes("search") && model.searched.some((view) => view.takes.includes("text"));
  const field = h("input", { type: "search", value: query, placeholder: near ? "Describe what you are looking for, or a part of a name ..." : "A part of a name, or words ...", "data-search": true, ariaLabel: "Search", autocomplete: "off", spellcheck: false, enterKeyHint: "search", onkeydown: (event) => {
    if (event.key === "Enter" && field.value.trim() && field.value.trim() === query) opensFirst(event);
  } });
  const found = h("div"), named = h("div");
  replace(place, heading("Objects"),
    h("form.search.big", { onsubmit: (event) => { event.preventDefault(); location.hash = hash("objects", { q: field.value.trim() }); } }, field, h("button.primary", null, "Search")),
    found, named);
  if (!query) field.focus({ preventScroll: true });
  const asked = get(`/api/objects?${new URLSearchParams({ q: query, start })}`);
  if (query && near && !start) fill(found, async () => hits(query, await asked, page), "Searching ...");
  fill(named, async () => list(await asked, query, near), "Looking ...");
}

/** What the retriever finds by all views, with what each word of the query is worth. */
async function hits(query, { unknown, total }, page) {
  const strange = unknown.length > 0 && unknown.length === new Set(query.toLowerCase().trim().split(/\s+/)).size;
  if (strange && total > 0) return null; // the name of an object
  let answer;
  try {
    answer = await post("/search", { query, k: HITS, why: true }, page.signal);
  } catch (error) {
    if (error.status !== 422) throw error;
    return h("p.soft", { role: "status" }, error.message);
  }
  const missing = [...new Set([...unknown, ...answer.ignored])];
  const ignored = missing.length > 0 && h("p.soft", { role: "status" }, `No object has ${missing.map((word) => `“${word}”`).join(" or ")}.`);
  if (!answer.hits.length) return h("div", null, ignored);
  const known = await post("/api/known", { ids: answer.hits.map((hit) => hit.id) }, page.signal);
  const near = h("ul.list", null, answer.hits.map((hit, i) => h("li", null,
      h("a.entry", { href: known[i].known ? objectHref(hit.id) : null, "data-entry": true }, objectLine(known[i]), (known[i].label || hit.group_name) && h("span.badge", null, known[i].label || hit.group_name), h("span.value", null, hit.score.toFixed(3))),
      hit.why.length > 0 && h("details.why", null, h("summary", null, "Why it matched"), h("p.soft", null, "How much the score drops when a word is left out."), parts(hit.why)))));
  // parts of words may be near though no object has one of the words
  if (strange) return h("section", null, ignored, h("details", null, h("summary", null, "Objects with similar letters"), near));
  return h("section", null, h("h2", null, "Nearest to these words"), ignored, near);
}

function list(answer, query, near) {
  const similar = answer.similar.length > 0 && [" Did you mean ", answer.similar.map((id, i) => [i > 0 && " or ", h("a", { href: objectHref(id) }, objectName(id))]), "?"];
  if (!answer.total) return near && query ? h("p.soft", null, "No object has all of these words or such a name.", similar) : empty("No such object", query ? `No object is called “${query}” or has all of these words.` : "There are no objects to show.", similar);
  return h("section", null, query && h("h2", null, "With this name, or all of these words"),
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
      object.columns.length > 0 && record(object.columns),
      object.opinions.map(opinions),
      object.views.length
        ? h("section", null, h("h2", null, "Views"), folded(object.views, (view) => viewCard(view, object.columns.length > 0), 6, h("div.cards")))
        : empty("Only predictions", "The model file holds no features of its objects. Start the explorer with the data to see them."),
      object.near.length > 0 && h("section", null, h("h2", null, "Near it, by all views"), h("ul.list", null, object.near.map((hit) =>
        entry(hit.id, hit.known, objectLine(hit), h("span.value", null, hit.score.toFixed(3)))))));
  }, "Predicting from each view ...");
}

const LONG = 600; // characters of a cell that are shown at once

/** All columns of the table but that of the names. */
function record(columns) {
  return h("section", null, h("div.card", null, h("dl.record", null, columns.map(([name, value]) => [h("dt", null, name), h("dd", null, cell(value))]))));
}

function cell(value) {
  if (value === null || value === "") return h("span.soft", null, "empty");
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

function opinions(predicted) {
  const names = Object.keys(predicted.by_view);
  const to = (index) => groupHref(predicted.at, predicted.groups[index]);
  const tops = new Set(names.map((view) => predicted.by_view[view].length ? predicted.by_view[view][0][1] : null).filter((top) => top !== null));
  return h("section.opinion", null,
    h("h2", null, predicted.model, h("span.soft", null, ` predicts the ${predicted.kind}`),
      tops.size > 1 ? h("span.badge.warn", null, "views differ") : names.length > 1 && h("span.badge.good", null, "views agree")),
    unusedViews(predicted.unused),
    folded([null, ...names], (view) => (view === null
      ? predicted.together && h("div.card", null, h("h3", null, names.length ? "Together" : "Prediction"), shares(predicted.together, to, null, predicted.probabilities))
      : h("div.card", { class: viewClass(view) }, h("h3", null, viewName(view), " alone"),
        predicted.by_view[view].length ? shares(predicted.by_view[view], to, view, predicted.probabilities) : h("p.soft", null, "No prediction."))), 6, h("div.cards.three")));
}
