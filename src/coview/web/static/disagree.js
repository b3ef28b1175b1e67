// Where views say different things of the same object.

import { get } from "./api.js";
import { count, empty, entry, fill, folded, h, hash, heading, objectLine, pager, percent, plural, replace, unusedViews, viewClass, viewName } from "./ui.js";

const PAIRS = 8; // rows at a time

export function disagreement(place, { params, page }) {
  const pair = Object.fromEntries(["a", "b", "first", "second"].filter((key) => params.has(key)).map((key) => [key, params.get(key)]));
  const start = Number(params.get("start")) || 0;
  page.up = pair.a ? "#/views" : "#/";
  const body = h("div");
  replace(place, heading("Disagreement", h("p.lead", null, "Objects that the views assign to different groups.")), body);
  fill(body, async () => {
    const answer = await get(`/api/disagreement?${new URLSearchParams({ start, ...pair })}`);
    if (answer.views.length < 2) return h("div", null, empty("Nothing to compare", "Only one view makes predictions."), unusedViews(answer.unused));
    const chosen = answer.pairs.find((one) => same(one, pair));
    return h("div", null, unusedViews(answer.unused),
      h("section.cards.lopsided", null, agreement(answer), answer.pairs.length > 0 && h("div.card", null, h("h2", null, "Mixed up most often"), pairs(answer, pair))),
      pair.a && h("p.row", null, chosen && chosen.views.map((view, i) => h("span.badge", { class: viewClass(view) }, `${view}: ${chosen.groups[i]}`)), h("a", { href: "#/views" }, "Show all")),
      answer.total ? table(answer, pair) : empty("No disagreement", "The views agree on every object."));
  }, "Comparing the views ...");
}

const same = (one, pair) => one.views[0] === pair.a && one.views[1] === pair.b && String(one.keys[0]) === pair.first && String(one.keys[1]) === pair.second;

function agreement(answer) {
  const rows = [...answer.agreement].sort((x, y) => y[2] - x[2]);
  return h("div.card", null, h("h2", null, "Agreement"),
    folded(rows, ([a, b, share, n]) => h("li", null, h("span.large", null, percent(share)),
      h("span", null, viewName(a), " and ", viewName(b), " agree", h("span.soft", null, `, of ${plural(n, "object")} that have both`))), 6, h("ul.agreement")));
}

function pairs(answer, pair) {
  const rows = folded(answer.pairs, (one) => h("tr", { class: same(one, pair) ? "on" : "" },
    one.views.map((view, i) => h("td", null, viewName(view), " ", one.groups[i])),
    h("td.number", null, h("a", { href: hash("views", { a: one.views[0], b: one.views[1], first: one.keys[0], second: one.keys[1] }) }, count(one.objects)))), PAIRS, h("tbody"));
  const body = rows.firstChild;
  const tables = h("table.plain.pairs", null, h("thead", null, h("tr", null, h("th", null, "one view says"), h("th", null, "another says"), h("th.number", null, "objects"))));
  rows.prepend(tables);
  tables.append(body);
  return rows;
}

function table(answer, pair) {
  return h("section", null,
    h("p.soft.summary", null, `${plural(answer.total, "object")}, the most different first`),
    h("ul.list.opinions", null, answer.objects.map((one) => entry(one.id, true,
      objectLine(one),
      h("span.predictions", null, answer.views.map((view) => h("span.prediction", { class: viewClass(view) },
        viewName(view), one.by_view[view].length ? `${one.by_view[view][0][0]} ` : "nothing ",
        answer.probabilities && one.by_view[view].length > 0 && h("span.soft", null, percent(one.by_view[view][0][2]))))),
      h("span.value", null, one.difference.toFixed(2))))),
    pager(answer, (start) => hash("views", { ...pair, start })));
}
