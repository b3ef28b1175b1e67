// Try the model on something new: text, features by name, or numbers, in some or all of the views.

import { post } from "./api.js";
import { empty, fill, h, heading, plural, replace, shares, viewClass, viewName } from "./ui.js";

export function attempt(place, { model, page }) {
  page.up = "#/";
  const fields = new Map();
  const result = h("div", { "aria-live": "polite" });
  const form = h("form", { onsubmit: (event) => { event.preventDefault(); run(); } },
    h("section.cards", null, model.views.filter((view) => !view.unused).map((view) => {
      const wrong = h("p.wrong", { role: "alert", id: `wrong ${view.name}` });
      const field = h("textarea", { rows: 3, ariaLabel: view.name, spellcheck: false, placeholder: hint(view), "aria-describedby": wrong.id,
        onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(); } });
      fields.set(view.name, { field, wrong });
      return h("div.card", { class: viewClass(view.name) }, h("h2", null, viewName(view.name), h("span.soft", null, ` ${plural(view.features, "feature")}`)), field, wrong);
    })),
    h("div.row", null, h("button.primary", null, "Predict"), h("span.soft", null, "Views left empty count as missing.")));
  const run = () => fill(result, async () => {
    const rows = {};
    let bad = false;
    for (const { wrong } of fields.values()) wrong.textContent = "";
    const refuse = (name, text) => {
      const { field, wrong } = fields.get(name);
      wrong.textContent = text;
      if (!bad) field.focus();
      bad = true;
    };
    for (const [name, { field }] of fields) {
      const text = field.value.trim();
      if (!text) continue;
      try {
        rows[name] = read(text, model.views.find((view) => view.name === name));
      } catch {
        refuse(name, "This looks like JSON but is not valid.");
      }
    }
    if (bad) return h("div");
    if (!Object.keys(rows).length) return empty("Nothing to predict", "Fill in at least one view.");
    try {
      if (model.can.includes("predict")) return prediction(await post("/predict", { rows, by_view: true, top: 5, unknown: "ignore" }));
      return coordinates(await post("/transform", { rows, unknown: "ignore" }));
    } catch (error) {
      if (!fields.has(error.view)) throw error;
      refuse(error.view, error.message); // beside the field that it is about
      return h("div");
    }
  }, "Predicting ...");
  replace(place, heading("Try it", h("p.lead", null, "Enter a new object, in one view or in several.")), form, result);
}

function hint(view) {
  if (view.takes.includes("text")) return "Words, or {\"feature\": value}";
  if (view.named) return "{\"column\": value}, or numbers separated by commas";
  return `${view.features} numbers separated by commas`;
}

/** A cell as the server takes it: numbers with commas between or after them, or the one of a view that takes no text. */
export function read(text, view) {
  if (/^[[{]/.test(text)) return JSON.parse(text);
  const numbers = text.replace(/,$/, "").split(",").map(Number);
  const meant = text.includes(",") || (view.features === 1 && !view.takes.includes("text"));
  return meant && numbers.every(Number.isFinite) ? numbers : text;
}

function prediction(answer) {
  const one = (name, part, view) => h("div.card", { class: view ? viewClass(view) : "" }, h("h3", null, name),
    part.labels[0] === null ? h("p.soft", null, `No prediction: the input contains nothing that ${view ? "this view" : "the model"} knows.`)
      : h("p.large", null, String(part.names ? part.names[0] : part.labels[0]), part.names && h("span.key", null, `${answer.kind} ${part.labels[0]}`)),
    part.known && part.known[0] === false && part.labels[0] !== null && h("p.soft", null, "The input contains nothing that the model knows; this is its default prediction."),
    part.label_sets && part.label_sets[0] && h("p", null, part.label_sets[0].join(" › ")),
    part.top && part.top[0] && shares(part.top[0], null, view, Boolean(part.probabilities)));
  return h("section", null, h("h2", null, `${answer.model} predicts`), h("div.cards.three", null, one(Object.keys(answer.by_view || {}).length ? "Together" : "Prediction", answer),
    Object.entries(answer.by_view || {}).filter(([, part]) => part.labels && part.known[0] !== null).map(([view, part]) => one(h("span", null, viewName(view), " alone"), part, view))));
}

function coordinates(answer) {
  const list = answer.coordinates[0].map((value, k) => [k, value]).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 12);
  return h("section", null, h("h2", null, `${answer.model} places it at`),
    h("div.card", null, h("table.plain", null, list.map(([k, value]) => h("tr", null, h("td", null, `dimension ${k}`), h("td.number", null, value.toFixed(4)))))));
}
