// Check the labels that the views contradict: accept what is suggested, or keep what is there. Kept in this tab only.

import { get } from "./api.js";
import { count, empty, fill, h, heading, objectHref, objectName, percent, plural, replace } from "./ui.js";
import { save } from "./labeling.js";

const SHOWN = 50; // labels at a time

export function checking(place, { model, page }) {
  page.up = "#/";
  const key = `coview-checked ${model.fingerprint}`;
  const checked = JSON.parse(sessionStorage.getItem(key) || "{}"); // by id: the label that a person decided on
  const list = h("div");
  const bar = h("div.row");
  replace(place, heading("Check labels", h("p.lead", null, "Labels that the views contradict, the most doubtful first.")), list, bar);

  const draw = (answer) => {
    const left = answer.objects.filter((one) => !(one.id in checked));
    const changed = answer.objects.filter((one) => one.id in checked && checked[one.id] !== one.label);
    const decide = (one, label) => {
      checked[one.id] = label;
      sessionStorage.setItem(key, JSON.stringify(checked));
      replace(list, draw(answer));
      const next = list.querySelector("[data-entry]");
      if (next) next.focus();
    };
    const forget = () => {
      for (const id of Object.keys(checked)) delete checked[id];
      sessionStorage.removeItem(key);
      replace(list, draw(answer));
    };
    const more = answer.doubted - answer.objects.length; // those not sent
    replace(bar,
      changed.length > 0 && h("button.primary", { type: "button", onclick: () => save(Object.fromEntries(changed.map((one) => [one.id, one.suggested]))) }, "Save all labels"),
      Object.keys(checked).length > 0 && h("button.ghost", { type: "button", onclick: forget }, "Start over"),
      h("span.soft", null, `${plural(changed.length, "label")} changed. The model file stays as it is.`));
    if (!left.length) return empty(more > 0 ? `The first ${count(answer.objects.length)} are checked` : "Nothing left to check",
      more > 0 ? `${count(more)} more are doubted: save the labels, pass them to coview fit, and check again.` : "Save the labels, and pass them to coview fit.");
    return h("div", null,
      h("p.soft.summary", null, `${count(answer.doubted)} of ${plural(answer.labels, "label")} more likely wrong than right`, left.length > SHOWN && `; the first ${SHOWN} of ${count(left.length)} left`),
      h("ul.list.labeling", null, left.slice(0, SHOWN).map((one) => doubtful(one, (label) => decide(one, label)))));
  };
  fill(list, async () => {
    return draw(await get("/api/audit"));
  }, "Asking the views ...");
}

// hardly anything is quite sure
const likely = (doubt) => doubt > 0.99 ? "over 99 % wrong" : `${percent(doubt)} wrong`;

function doubtful(one, decide) {
  return h("li", null,
    h("div.what", null, h("a", { href: objectHref(one.id) }, objectName(one.id)), one.about && h("span.about", null, one.about)),
    h("p.soft.reasons", null, one.reason),
    h("div.answer", null, h("span.badge", { title: "the label, and the probability that it is wrong" }, `${one.label}: ${likely(one.doubt)}`),
      h("button", { type: "button", "data-entry": true, onclick: () => decide(one.suggested) }, `Change to ${one.suggested}`),
      h("button.ghost", { type: "button", onclick: () => decide(one.label) }, "Keep")));
}
