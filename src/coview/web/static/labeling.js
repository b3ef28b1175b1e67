// Label what helps the model most, fit it again, and see what changes. Labels are kept in this tab only.

import { get, post } from "./api.js";
import { count, empty, entry, failed, fill, folded, h, heading, loading, objectHref, objectLine, objectName, percent, plural, replace } from "./ui.js";

const CHANGES = 8; // rows at a time

export function labeling(place, { model, page }) {
  page.up = "#/";
  const key = `coview-labels ${model.fingerprint}`;
  const nothing = () => ({ labels: {}, classes: [], skipped: [] }); // classes beside those of the model
  const kept = { ...nothing(), ...JSON.parse(sessionStorage.getItem(key) || "{}") };
  const keep = () => sessionStorage.setItem(key, JSON.stringify(kept));
  const asked = () => ({ labels: kept.labels, new_classes: kept.classes, skipped: kept.skipped });
  const list = h("div");
  const outcome = h("div", { "aria-live": "polite" });
  const bar = h("div.row");
  let waiting = null; // the object whose new class is being named
  const name = h("input", { type: "text", placeholder: "New class ...", ariaLabel: "New class", maxLength: 100, autocomplete: "off" });
  const adding = h("form.row", { hidden: true, onsubmit: (event) => { event.preventDefault(); addClass(name.value.trim()); } },
    name, h("button", null, "Add class"));
  replace(place, heading("Label next", h("p.lead", null, "Objects whose labels would help the model most.")), outcome, adding, list, bar);

  let last = null; // what was answered last
  const classes = () => [...last.classes, ...kept.classes.filter((one) => !last.classes.includes(one))];
  const selectOf = (id) => [...list.querySelectorAll("select")].find((one) => one.dataset.id === String(id));

  const draw = (next) => {
    last = next;
    adding.hidden = !next.takes_new_classes || !next.objects.length;
    drawBar();
    if (!next.objects.length) return kept.skipped.length
      ? empty("Nothing else to label", "All other objects that the model knows something of have a label.")
      : empty("Nothing to label", "Every object that the model knows something of has a label.");
    return h("div", null,
      h("p.soft.summary", null, `${plural(next.n_labeled, "object")} labeled, ${count(next.n_unlabeled)} without a label`),
      h("ul.list.labeling", null, next.objects.map((one) => suggestion(one, next, classes(), kept.labels[one.id], {
        choose: (label) => change(one.id, label),
        skip: () => skip(one.id),
        add: () => { waiting = one.id; name.focus(); },
      }))));
  };

  const change = (id, label) => {
    if (label) kept.labels[id] = label;
    else delete kept.labels[id];
    keep();
    drawBar();
  };

  const addClass = (text) => {
    if (!text) return;
    if (!classes().includes(text)) kept.classes.push(text);
    const id = waiting;
    if (id !== null) kept.labels[id] = text;
    [waiting, name.value] = [null, ""];
    keep();
    replace(list, draw(last));
    if (id !== null) selectOf(id).focus();
  };

  const skip = (id) => {
    const row = selectOf(id).closest("li");
    const next = row.nextElementSibling || row.previousElementSibling;
    delete kept.labels[id];
    kept.skipped.push(String(id));
    keep();
    last.objects = last.objects.filter((one) => one.id !== id);
    row.remove();
    if (!next) return start();
    next.querySelector("select").focus();
    drawBar();
  };

  const drawBar = () => {
    const n = Object.keys(kept.labels).length;
    const skipped = kept.skipped.length;
    replace(bar,
      last.refits && h("button.primary", { type: "button", class: n ? "" : "off", onclick: refit }, n ? `Refit with ${plural(n, "new label")}` : "Refit"),
      n > 0 && h("button", { type: "button", onclick: () => save(kept.labels) }, "Save all labels"),
      skipped > 0 && h("button.ghost", { type: "button", onclick: () => { kept.skipped = []; keep(); start(); } }, `Show ${plural(skipped, "skipped object")}`),
      n + skipped + kept.classes.length > 0 && h("button.ghost", { type: "button", onclick: forget }, "Start over"),
      h("span.soft", null, last.refits ? "The model file stays as it is." : "To refit here, start the explorer with --labels."));
  };

  const refit = async () => {
    replace(outcome, loading("Fitting ..."));
    replace(bar);
    try {
      const answer = await post("/api/refit", asked());
      replace(outcome, changes(answer));
      replace(list, draw(answer.next));
      window.scrollTo(0, 0);
    } catch (error) {
      replace(outcome, failed(error, refit));
      drawBar();
    }
  };

  const forget = () => {
    Object.assign(kept, nothing());
    sessionStorage.removeItem(key);
    replace(outcome);
    start();
  };
  const start = () => fill(list, async () => draw(await post("/api/suggestions", asked())), "Choosing objects ...");
  start();
}

function suggestion(one, next, classes, label, { choose, skip, add }) {
  const more = h("option", null, "new class ...");
  let chosen = label || "";
  const picked = h("select", {
    ariaLabel: `Label of ${one.id}`, "data-entry": true, "data-id": String(one.id),
    onchange: () => {
      if (picked.selectedOptions[0] === more) {
        picked.value = chosen;
        add();
      } else {
        chosen = picked.value;
        choose(chosen);
      }
    },
    onkeydown: (event) => { if (event.key === "Delete") { event.preventDefault(); skip(); } },
  }, h("option", { value: "" }, "label ..."), classes.map((name) => h("option", { value: name, selected: name === label }, name)),
  next.takes_new_classes && more);
  return h("li", null,
    h("div.what", null, h("a", { href: objectHref(one.id) }, objectName(one.id)), one.about && h("span.about", null, one.about)),
    h("p.soft.reasons", null, `uncertainty ${percent(one.uncertainty)}; covers ${percent(one.coverage)} of all uncertainty`),
    h("div.answer", null, h("span.badge", { title: "predicted" }, one.predicted, next.probabilities && ` ${percent(one.probability)}`), picked,
      h("button.ghost", { type: "button", ariaLabel: `Skip ${one.id}`, title: "Not now (Delete)", onclick: skip }, "Skip")));
}

function changes(answer) {
  const [before, after] = answer.accuracy;
  const fact = (large, text) => h("li", null, h("span.large", null, large), h("span", null, text));
  const base = answer.largest_class === null ? "" : `; the largest class has ${percent(answer.largest_class)} of the labels`;
  return h("section.card.changes", null, h("h2", null, "What changed"),
    h("ul.agreement", null,
      fact(count(answer.changed), `of ${plural(answer.objects, "prediction")} changed`),
      after !== null && fact("Accuracy", `${after}; before: ${before}${base}`),
      fact(`${count(answer.right)} of ${count(answer.given)}`, "of your new labels are what the model had predicted")),
    answer.changes.length > 0 && h("details", null, h("summary", null, "Changed predictions"),
      folded(answer.changes, (one) => entry(one.id, true, objectLine(one), h("span.soft", null, `${one.before} → ${one.after}`)), CHANGES, h("ul.list"))));
}

/** All labels, those of the fit and the new ones, as a file for coview fit --labels. */
export async function save(given) {
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
