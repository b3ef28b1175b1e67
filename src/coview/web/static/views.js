// What each view contributes, and the objects on which the views disagree.

import { sections } from "./api.js";
import { title } from "./overview.js";
import { contentOf, count, empty, entry, fill, folded, h, heading, objectName, percent, plural, replace, unusedViews, viewClass, viewName } from "./ui.js";

const DISPUTED = 10; // objects at a time

export function views(place, { model, page }) {
  page.up = "#/";
  const body = h("div");
  replace(place, heading("Views"), body);
  fill(body, async () => {
    const found = await sections(model.sorter, "views", "data", "group_names", "examples", "groups");
    if (!found.views) return h("div", null, empty("Nothing to compare", "The views make no predictions of their own."), unusedViews(found.data.unused));
    const noun = found.groups.noun, called = (key) => found.group_names[key] || title(noun, key);
    return h("div", null, unusedViews(found.data.unused), contributions(found.views), agreement(found.views, noun), disputed(found.examples, called, noun));
  }, "Comparing the views, on held-out objects where that is quick ...");
}

const shown = (value) => (value === null ? "\u2013" : value.toFixed(2).replace("-", "\u2212"));

function contributions(found) {
  const held = found.held_out || {};
  const on = held.n_hidden !== undefined ? `On ${plural(held.n_hidden, "held-out object")}${held.refitted ? `, by a copy of the model that was fitted with the other ${count(held.n_shown)}` : ""}`
    : `On ${plural(found.n_objects, "object")} that the model may have learned from${held.note ? ` (held out: ${held.note.replace(/\.$/, "")})` : ""}`;
  const columns = { alone: "from it alone", without: "without it" };
  if (found.rows.every((row) => row.without === null)) delete columns.without; // of classes judged by the fit
  const bar = (value) => h("span.track", null, h("span.bar", { "width%": 100 * Math.min(Math.max(value ?? 0, 0), 1) }));
  return h("section", null, h("div.card", null, h("h2", null, "What each view contributes"),
    h("p", null, `${on}: ${found.measure} (1 is best)${found.whole === null ? "" : `; from all views ${shown(found.whole)}`}.`),
    h("div.contributions", { class: columns.without ? "" : "lone" }, h("span.corner"), Object.values(columns).map((name) => h("span.soft", null, name)),
      found.rows.map((row) => [h("span.of", null, viewName(row.name), row.n_objects < found.n_judged && h("span.soft", null, ` ${plural(row.n_objects, "object")}`)),
        ...Object.keys(columns).map((name) => h("span.part", { class: viewClass(row.name) }, bar(row[name]), h("span.value", null, shown(row[name]))))])),
    found.rows.filter((row) => row.refused).map((row) => h("p.soft", null, `${row.name}: ${row.refused}`))));
}

function agreement(found, noun) {
  const matrix = found.agreement;
  if (!matrix) return null;
  const pairs = matrix.names.slice(0, -1).flatMap((a, i) => matrix.names.slice(0, i).map((b, j) => ({ views: [b, a], value: matrix.values[i][j], n: matrix.counts[i][j] })))
    .filter((pair) => pair.value !== null).sort((a, b) => a.value - b.value); // those that differ most are what to look at
  if (!pairs.length) return null;
  const mean = pairs.reduce((sum, pair) => sum + pair.value, 0) / pairs.length;
  return h("section", null, h("div.card", null, h("h2", null, "Agreement of single views"),
    h("p", null, matrix.cosine ? "Mean cosine between the positions of the same object." : `For how many of the same objects two views alone predict the same ${noun}${pairs.length > 1 ? `; ${percent(mean)} in the mean. The pairs that differ most come first` : ""}.`),
    folded(pairs, ({ views: [a, b], value, n }) => h("li", null, h("span.large", null, matrix.cosine ? shown(value) : percent(value)), h("span", null, viewName(a), " and ", viewName(b), h("span.soft", null, `, ${plural(n, "object")}`))), 8, h("ul.agreement"))));
}

function disputed(examples, called, noun) {
  const things = examples ? examples.disputed : [];
  if (!things.length) return h("section", null, h("h2", null, "Disagreement"), h("p.soft", null, `None: no two views are confident of a different ${noun} for the same object.`));
  return h("section", null, h("h2", null, "Disagreement"),
    h("p.soft", null, `Objects for which views predict another ${noun}, each with confidence; the clearest come first. Look here for wrong labels and corrupt data.`),
    folded(things, (thing) => entry(thing.id, true,
      h("span.what", null, objectName(thing.id), h("span.about", null, contentOf(thing))),
      h("span.predictions", null, said(thing, called))), DISPUTED, h("ul.list")));
}

/** Which views say what; of many views those that say the same together. */
function said(thing, called) {
  const by = new Map();
  for (const [view, key] of Object.entries(thing.by_view)) by.set(key, [...(by.get(key) || []), view]);
  return [...by].sort((a, b) => b[1].length - a[1].length).slice(0, 4).map(([key, names]) => h("span.prediction", null,
    names.length > 3 ? h("span.soft", null, `${names.length} views: `) : names.map((view) => [viewName(view), " "]), called(key)));
}
