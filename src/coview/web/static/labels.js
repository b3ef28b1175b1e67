// Try a set of labels under the ontology: what it implies, what it breaks, how well it fits an object.

import { get, post } from "./api.js";
import { count, fill, folded, h, hash, heading, objectHref, objectName, replace, viewName } from "./ui.js";

const LABELS = 40; // below one label, at a time

export function labels(place, { model, params, page }) {
  const id = params.get("id");
  page.up = id === null ? "#/" : objectHref(id);
  const chosen = new Set((params.get("set") || "").split("|").filter(Boolean));
  const body = h("div");
  replace(place, heading("Label sets", h("p.lead", null, "Choose labels: the labels above them are implied; labels that exclude each other are reported.")), body);
  fill(body, async () => {
    const ontology = await get("/api/ontology");
    const verdict = h("div.card.verdict", { "aria-live": "polite" });
    const tree = h("div.card.tree");
    const judge = () => {
      history.replaceState(null, "", hash("labels", { id, set: [...chosen].join("|") }));
      fill(verdict, async () => verdictOn(await post("/api/labels", { labels: [...chosen], id }), ontology, tree, model));
    };
    drawTree(tree, ontology, chosen, judge);
    judge();
    return h("div.two.turned", null, tree, h("div", null, objectPicker(id), verdict));
  });
}

function drawTree(tree, ontology, chosen, judge) {
  const below = new Map();
  ontology.labels.forEach((label, i) => {
    const parent = ontology.parents[i][0] || null;
    below.set(parent, [...(below.get(parent) || []), i]);
  });
  const branch = (parent) => (below.has(parent) ? folded(below.get(parent), (i) => {
    const label = ontology.labels[i];
    const box = h("input", { type: "checkbox", checked: chosen.has(label), "data-label": label, "data-entry": true, onchange: () => {
      if (box.checked) chosen.add(label);
      else chosen.delete(label);
      judge();
    } });
    return h("li", null, h("label", null, box, h("span", null, label),
      ontology.counts[i] !== null && h("span.badge", null, count(ontology.counts[i]))), branch(label));
  }, LABELS, h("ul")) : null);
  replace(tree, h("h2", null, "Labels"), branch(null));
}

function objectPicker(id) {
  if (id === null) return h("p.soft.picked", null, "To see how a set fits an object, open the object and choose “Try a label set”.");
  return h("p.picked", null, "For object ", h("a", { href: objectHref(id) }, id), h("span.soft", null, " · "), h("a", { href: "#/labels" }, "for none"));
}

function verdictOn(answer, ontology, tree, model) {
  for (const box of tree.querySelectorAll("[data-label]")) {
    box.parentElement.classList.toggle("implied", answer.added.includes(box.dataset.label));
  }
  const state = !answer.labels.length ? "Nothing is chosen" : answer.broken.length ? "This is inconsistent" : "This is consistent";
  return h("div", null,
    h("h2", null, state, answer.labels.length > 0 && h("span.badge", { class: answer.broken.length ? "warn" : "good" }, answer.broken.length ? "broken" : "allowed")),
    answer.closed.length > 0 && h("p", null, h("span.soft", null, "With all implied labels: "), answer.closed.join(", ")),
    answer.broken.length > 0 && h("ul", null, answer.broken.map((sentence) => h("li", null, sentence))),
    answer.added.length > 0 && h("p.soft", null, `Added: ${answer.added.join(", ")}.`),
    answer.object && fit(answer, ontology, model));
}

function fit(answer, ontology) {
  const one = answer.object;
  const views = Object.entries(one.views);
  const order = ontology.labels.map((label, i) => [label, Math.max(...views.map(([, view]) => view.scores[i]))]).sort((a, b) => b[1] - a[1]).slice(0, 8);
  return h("div", null,
    h("h3", null, objectName(one.id)),
    h("p", null, "The best sets reach ", h("strong", null, one.best.toFixed(3)), "; yours reaches ", h("strong", null, one.tried.toFixed(3)), "."),
    h("table.plain", null, h("tbody", null, views.map(([view, part]) => h("tr", null, h("td", null, viewName(view)), h("td", null, part.chosen.join(", ") || "nothing"))))),
    h("h3", null, "Scores"),
    h("table.plain.scores", null,
      h("thead", null, h("tr", null, h("th", null, "label"), views.map(([view]) => h("th.number", null, viewName(view))))),
      h("tbody", null, order.map(([label]) => {
        const i = ontology.labels.indexOf(label);
        return h("tr", { class: answer.closed.includes(label) ? "on" : "" }, h("td", null, label), views.map(([, view]) => h("td.number", null, view.scores[i].toFixed(3))));
      }))));
}
