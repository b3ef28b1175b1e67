// Where views say different things of the same object.

import { get } from "./api.js";
import { breakable, count, empty, entry, fill, h, hash, heading, objectName, pager, percent, plural, replace, viewClass, viewName } from "./ui.js";

export function disagreement(place, { params, page }) {
  const first = params.get("a");
  const second = params.get("b");
  const start = Number(params.get("start")) || 0;
  page.up = first ? "#/views" : "#/";
  const query = new URLSearchParams({ start, ...(first ? { first, second } : {}) });
  const body = h("div");
  replace(place, heading("Disagreement", h("p.lead", null, "Objects that the views assign to different groups.")), body);
  fill(body, async () => {
    const answer = await get(`/api/disagreement?${query}`);
    if (answer.views.length < 2) return empty("Nothing to compare", "Only one view makes predictions.");
    return h("div", null,
      h("section.cards.lopsided", null, h("div.card.figure", null, answer.agreement.map(([a, b, share]) => h("div", null,
        h("p.large", null, percent(share)), h("p", null, viewName(a), " and ", viewName(b), ` agree, of ${plural(answer.compared, "object")}`)))),
      answer.pairs.length > 0 && h("div.card", null, h("h2", null, "Confused most often"),
        h("table.plain.pairs", null, h("thead", null, h("tr", null, h("th", null, viewName(answer.views[0]), " says"), h("th", null, viewName(answer.views[1]), " says"), h("th.number", null, "objects"))),
          h("tbody", null, answer.pairs.slice(0, 8).map(([a, b, n]) => h("tr", { class: a === first && b === second ? "on" : "" },
            h("td", null, breakable(a)), h("td", null, breakable(b)), h("td.number", null, h("a", { href: hash("views", { a, b }) }, count(n))))))))),
      first && h("p.row", null, h("span.badge", null, `${answer.views[0]}: ${first}`), h("span.badge", null, `${answer.views[1]}: ${second}`), h("a", { href: "#/views" }, "Show all")),
      answer.total ? table(answer, first, second) : empty("No disagreement", "The views agree on every object."));
  }, "Comparing the views ...");
}

function table(answer, first, second) {
  return h("section", null,
    h("p.soft.summary", null, `${plural(answer.total, "object")}, the most different first`),
    h("ul.list.opinions", null, answer.objects.map((one) => entry(one.row,
      h("span.what", null, objectName(one.id)),
      h("span.predictions", null, answer.views.map((view) => h("span.prediction", { class: viewClass(view) },
        viewName(view), one.by_view[view].length ? `${one.by_view[view][0][0]} ` : "nothing ",
        one.by_view[view].length > 0 && h("span.soft", null, percent(one.by_view[view][0][2]))))),
      h("span.value", null, one.difference.toFixed(2))))),
    pager(answer, (start) => hash("views", { a: first, b: second, start })));
}
