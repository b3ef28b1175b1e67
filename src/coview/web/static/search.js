// Search one view with another, and see why each hit matched.

import { get, groups, post } from "./api.js";
import { chips, count, empty, failed, fill, h, hash, heading, loading, objectHref, objectLine, objectName, parts, replace, viewClass, viewName } from "./ui.js";

const ALL = "all views";

export function search(place, { model, params, page }) {
  const names = model.searched.map((view) => view.name);
  const texty = model.searched.filter((view) => view.takes.includes("text")).map((view) => view.name);
  const other = (name) => names.find((each) => each !== name) || name;
  const known = (key) => (names.includes(params.get(key)) ? params.get(key) : null);
  // without views in the address, words are read by all views and searched for in all
  const anywhere = texty.length > 0 && !known("from") && !known("in");
  const source = anywhere ? null : known("from") || texty[0] || names[0];
  const target = anywhere ? null : known("in") || other(source);
  const query = params.get("q") || "";
  const field = h("input", { type: "search", value: query, placeholder: anywhere ? "Describe what you are looking for ..." : `Words of the view ${source} ...`,
    "data-search": true, ariaLabel: "Query", autocomplete: "off", spellcheck: false, enterKeyHint: "search" });
  const go = (change = {}) => {
    const next = hash("search", { q: field.value.trim(), from: source, in: target, ...change });
    if (next === location.hash) window.dispatchEvent(new HashChangeEvent("hashchange"));
    else location.hash = next;
  };
  const results = h("div.results");
  const choices = texty.length && names.length > 1 ? [ALL, ...names] : names;
  const everywhere = { from: null, in: null };
  replace(place,
    heading("Search"),
    h("form.search.big", { onsubmit: (event) => { event.preventDefault(); go(); } }, field, h("button.primary", null, "Search")),
    names.length > 1 && h("div.row.pickers", null,
      picker("with", choices, source || ALL, (name) => go(name === ALL ? everywhere : { from: name, in: target && name !== target ? target : source || other(name) })),
      picker("in", choices, target || ALL, (name) => go(name === ALL ? everywhere : { from: source || texty.find((each) => each !== name) || texty[0], in: name }))),
    results);
  if (!query) {
    field.focus({ preventScroll: true });
    suggest(results, source || texty[0], (words) => { field.value = words; go({ q: words }); });
  } else {
    page.up = "#/";
    fill(results, () => hits(query, source, target, model, page), "Searching ...");
  }
}

function picker(label, names, chosen, choose) {
  return h("div.picker", { role: "group", ariaLabel: `Search ${label}` }, h("span.soft", null, label), names.map((name) =>
    h("button", { type: "button", class: `${name === ALL ? "" : viewClass(name)} ${name === chosen ? "on" : ""}`,
      "aria-pressed": String(name === chosen), onclick: () => choose(name) }, name)));
}

async function suggest(place, source, choose) {
  try {
    const described = (await groups()).filter((part) => part.kind !== "component")
      .flatMap((part) => part.groups).filter((group) => group.views[source] && group.views[source].length > 3);
    const step = Math.max(1, Math.floor(described.length / 8));
    const shown = described.filter((_, i) => i % step === 0).slice(0, 8).map((group) => group.views[source].slice(0, 3).map(([name]) => name).join(" "));
    if (!shown.length) return replace(place, empty("Nothing searched yet", "Type words above and press Enter."));
    replace(place, h("div.state.empty", null, h("strong", null, "What are you looking for?"),
      h("p", null, "Type a few words, or start with what this collection is about:"),
      h("div.suggestions", null, shown.map((words) =>
        h("button", { type: "button", class: viewClass(source), onclick: () => choose(words) }, words)))));
  } catch (error) {
    replace(place, failed(error));
  }
}

async function hits(query, source, target, model, page) {
  const answer = await post("/search", { query, source, target, k: 20 }, page.signal);
  if (!answer.hits.length) return empty("Nothing is indexed", "The retriever holds no objects in this view.");
  const known = await post("/api/known", { ids: answer.hits.map((hit) => hit.id) }, page.signal);
  const detail = h("aside.detail", { "aria-live": "polite" });
  const largest = Math.max(...answer.hits.map((hit) => hit.score), 1e-9);
  let chosen = null;
  const choose = (button, hit, at) => {
    if (chosen === button && narrow()) { // on a phone a second tap closes
      detail.remove();
      chosen.classList.remove("on");
      chosen = null;
      return;
    }
    if (chosen) chosen.classList.remove("on");
    chosen = button;
    button.classList.add("on");
    if (narrow()) button.after(detail);
    explain(detail, { query, source, target }, hit, known[at], model, page);
  };
  const list = h("ol.hits", null, answer.hits.map((hit, i) => {
    const item = h("li", null);
    const button = h("button.hit", { type: "button", "data-entry": true, onclick: () => choose(button, hit, i),
      onkeydown: (event) => {
        if (event.key !== "Enter" || !known[i].known) return;
        event.preventDefault();
        page.go(objectHref(hit.id));
      },
      onfocus: () => { if (!narrow() && chosen !== button) choose(button, hit, i); } },
      h("span.rank", null, i + 1),
      objectLine(known[i], (known[i].label || hit.group_name) && h("span.badge", null, known[i].label || hit.group_name)),
      h("span.score", null, h("span.track", null, h("span.bar", { "width%": Math.max(0, 100 * hit.score / largest) })), hit.score.toFixed(3)));
    item.append(button);
    return item;
  }));
  if (!narrow()) choose(list.querySelector("button"), answer.hits[0], 0);
  return h("div", null,
    h("p.soft.summary", null, `The ${answer.hits.length} nearest of ${count(model.indexed)} objects`,
      target ? [" by their ", viewName(target), ", for a query in ", viewName(source), "."] : " by all their views.",
      answer.ignored.length > 0 && ` Ignored, not in the vocabulary: ${answer.ignored.map((word) => `'${word}'`).join(", ")}.`),
    h("div.two", null, list, narrow() ? null : detail));
}

const narrow = () => matchMedia("(max-width: 900px)").matches;

function explain(place, ask, hit, known, model, page) {
  replace(place, loading("Explaining ..."));
  fill(place, async () => {
    const why = get(`/api/why?${new URLSearchParams({ q: ask.query, id: hit.id, ...(ask.source ? { source: ask.source, target: ask.target } : {}) })}`);
    const object = known.known ? get(`/api/object?${new URLSearchParams({ id: hit.id })}`) : null;
    const names = await partNames();
    const [reasons, shown] = [await why, object && (await object)];
    page.right = null;
    return h("div", null,
      h("h2", null, known.known ? h("a", { href: objectHref(hit.id) }, objectName(hit.id)) : objectName(hit.id)),
      h("h3", null, "Why it matched"),
      h("p.soft", null, reasons.features.length ? "How much the score drops when a word is left out." : "By topics, not by words."),
      reasons.features.length > 0 && h("div", null, ask.source && h("p", null, viewName(ask.source), h("span.soft", null, " of your query")), parts(reasons.features.slice(0, 7), ask.source)),
      reasons.parts.length > 0 && h("details", { open: !reasons.features.length }, h("summary", null, "What the two have in common, according to the model"),
        parts(reasons.parts, null, (part) => names(part, ask.target))),
      shown && shown.views.filter((view) => view.present).sort((a, b) => (b.name === ask.target) - (a.name === ask.target)).map((view) =>
        h("div.viewbox", { class: viewClass(view.name) }, h("h3", null, viewName(view.name)),
          view.text ? h("pre.text.short", null, view.text) : chips(view.features, view.name, 24))),
      known.known && h("p", null, h("a.button", { href: objectHref(hit.id) }, "Show the object")));
  }, "Explaining ...");
}

/** Components have numbers only; say what they are about. */
async function partNames() {
  let about = [];
  try {
    about = ((await groups()).find((part) => part.kind === "component") || { groups: [] }).groups;
  } catch { /* the numbers alone will do */ }
  return (part, view) => {
    const match = /component (\d+)$/.exec(part.name);
    const group = match && about[Number(match[1])];
    const list = group && group.views[view];
    if (!list || !part.side) return part.name.replace(/^word /, "shared word ");
    const end = part.side > 0 ? list.slice(0, 4) : list.slice(-4).reverse();
    return h("span", { title: part.name }, end.map(([word]) => word).join(", "));
  };
}
