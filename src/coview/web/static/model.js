// The model: how it was made, from what, how well it did; parameters last.

import { section, sections } from "./api.js";
import { count, fill, h, heading, percent, plural, replace, viewName } from "./ui.js";

export function modelPage(place, { model, page }) {
  page.up = "#/";
  const given = model.models.length > 1 ? model.models.map((_, at) => at) : [0];
  replace(place, heading("Model"), given.map((at) => {
    const part = h("section");
    fill(part, () => described(at), "Describing the model ...");
    return part;
  }));
}

async function described(at) {
  const { model: how, data } = await sections(at, "model", "data");
  const scores = h("div.scores");
  fill(scores, async () => measures(await section(at, "scores")), "Scoring, on held-out labels where that is quick ...");
  return h("div.stack", null,
    h("div.card", null, h("h2", null, how.name), h("p", null, how.words),
      how.sentence && how.sentence !== how.words && h("details", null, h("summary", null, "In figures"), h("p", null, how.sentence)),
      how.edits.length > 0 && h("div", null, h("h3", null, "Edits"), h("ol.log", null, how.edits.map((edit) => h("li", null, edit))))),
    scores,
    h("div.card", null, h("h2", null, "Views"), h("div.rows", null, data.views.map((view) => h("p", null, viewName(view.name), " ", facts(view, data).join(" · "))))),
    h("details.card", null, h("summary", null, "Parameters and versions"), h("dl.record", null,
      how.parameters.map((one) => [h("dt", null, one.name), h("dd", null, one.changed ? h("strong", null, one.value) : one.value)]),
      how.iterations !== null && [h("dt", null, "iterations"), h("dd", null, count(how.iterations))],
      Object.entries(how.versions).map(([name, version]) => [h("dt", null, name), h("dd", null, version)]))));
}

function facts(view, data) {
  const taken = { gaussian: "as vectors", multinomial: "as counts" }[view.likelihood];
  return [plural(view.n_features, "feature"), taken, data.measured && `${percent(view.density)} not zero`, view.missing > 0 && `${percent(view.missing)} of the objects lack it`, data.unused.includes(view.name) && "not used"].filter(Boolean);
}

function measures(scores) {
  if (!scores) return null;
  const held = scores.held_out && scores.held_out.measures ? scores.held_out : null;
  return h("div.card", null, h("h2", null, "Compared with the labels"),
    h("p.soft", null, held ? `On ${count(held.n_hidden)} that were held out.` : `On ${count(scores.n_labeled)} of ${count(scores.n_objects)} objects.${scores.held_out && scores.held_out.note ? ` Held out: ${scores.held_out.note}` : ""}`),
    h("ul.agreement", null, (held || scores).measures.map((one) => h("li", null, h("span.large", null, one.value === null ? "\u2013" : one.value.toFixed(3)), h("span", null, one.name, h("span.soft", null, `: ${one.about}`))))));
}
