// Label what helps the model most, fit it again, and see what changes. Labels are kept in this tab only.

import { get, post } from "./api.js";
import { count, empty, entry, failed, fill, folded, h, heading, loading, objectHref, objectLine, objectName, percent, plural, replace } from "./ui.js";

const CHANGES = 8; // rows at a time
const REASONS = { uncertainty: "uncertainty", disagreement: "views disagree", coverage: "coverage" };

export function labeling(place, { model, page }) {
  page.up = "#/";
  const key = `coview-labels ${model.title}`;
  const given = JSON.parse(sessionStorage.getItem(key) || "{}");
  const list = h("div");
  const outcome = h("div", { "aria-live": "polite" });
  const bar = h("div.row");
  replace(place, heading("Label next", h("p.lead", null, "Objects whose labels would help the model most.")), outcome, list, bar);

  const draw = (next) => {
    const change = (id, label) => {
      if (label) given[id] = label;
      else delete given[id];
      sessionStorage.setItem(key, JSON.stringify(given));
      drawBar(next);
    };
    drawBar(next);
    if (!next.objects.length) return empty("Nothing to label", "Every object that the model knows something of has a label.");
    return h("div", null,
      h("p.soft.summary", null, `${plural(next.n_labeled, "object")} labeled, ${count(next.n_unlabeled)} without a label`),
      h("ul.list.labeling", null, next.objects.map((one) => suggestion(one, next, given[one.id], (label) => change(one.id, label)))));
  };

  const drawBar = (next) => {
    const n = Object.keys(given).length;
    replace(bar,
      next.refits && h("button.primary", { type: "button", class: n ? "" : "off", onclick: refit }, n ? `Refit with ${plural(n, "new label")}` : "Refit"),
      n > 0 && h("button", { type: "button", onclick: () => save(given) }, "Save all labels"),
      n > 0 && h("button.ghost", { type: "button", onclick: forget }, "Start over"),
      h("span.soft", null, next.refits ? "The model file stays as it is." : "To refit here, start the explorer with --labels."));
  };

  const refit = async () => {
    replace(outcome, loading("Fitting ..."));
    replace(bar);
    try {
      const answer = await post("/api/refit", { labels: given });
      replace(outcome, changes(answer));
      replace(list, draw(answer.next));
      window.scrollTo(0, 0);
    } catch (error) {
      replace(outcome, failed(error, refit));
    }
  };

  const forget = () => {
    for (const id of Object.keys(given)) delete given[id];
    sessionStorage.removeItem(key);
    replace(outcome);
    start();
  };
  const start = () => fill(list, async () => draw(await post("/api/suggestions", { labels: given })), "Choosing objects ...");
  start();
}

function suggestion(one, next, label, choose) {
  const most = Math.max(...next.objects.map((each) => each.coverage), 1e-12); // shares of everything are small
  const picked = h("select", { ariaLabel: `Label of ${one.id}`, "data-entry": true, onchange: () => choose(picked.value) },
    h("option", { value: "" }, "label ..."), next.classes.map((name) => h("option", { value: name, selected: name === label }, name)));
  return h("li", null,
    h("div.what", null, h("a", { href: objectHref(one.id) }, objectName(one.id)), one.about && h("span.about", null, one.about),
      h("span.soft.why", null, one.why)),
    h("ul.reasons", null, Object.entries(REASONS).map(([name, text]) => h("li", { title: `${text} ${one[name].toFixed(2)}` },
      h("span.soft", null, text), h("span.track", null, h("span.bar", { "width%": 100 * one[name] / (name === "coverage" ? most : 1) }))))),
    h("div.answer", null, h("span.badge", { title: "predicted" }, one.predicted, next.probabilities && ` ${percent(one.probability)}`), picked));
}

function changes(answer) {
  const [before, after] = answer.accuracy;
  const fact = (large, text) => h("li", null, h("span.large", null, large), h("span", null, text));
  return h("section.card.changes", null, h("h2", null, "What changed"),
    h("ul.agreement", null,
      fact(count(answer.changed), `of ${plural(answer.objects, "prediction")} changed`),
      before !== null && after !== null && fact(`${percent(before)} → ${percent(after)}`, "of held-out labels found"),
      fact(`${count(answer.right)} of ${count(answer.given)}`, "new labels were predicted before")),
    answer.changes.length > 0 && h("details", null, h("summary", null, "Changed predictions"),
      folded(answer.changes, (one) => entry(one.id, true, objectLine(one), h("span.soft", null, `${one.before} → ${one.after}`)), CHANGES, h("ul.list"))));
}

/** All labels, those of the fit and the new ones, as a file for coview fit --labels. */
async function save(given) {
  const rows = [...(await get("/api/known_labels")).filter(([id]) => !(id in given)), ...Object.entries(given)];
  const text = [["id", "label"], ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: "labels.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// what a spreadsheet would run as a formula gets a sign in front, which coview takes away again
function cell(value) {
  const text = String(value);
  const safe = /^[=+\-@\t\r]/.test(text) && text.length > 1 && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
