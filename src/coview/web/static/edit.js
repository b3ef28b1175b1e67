// Edits of groups: rename at once; merge, split, drop, mark as noise and reduce after a look at what would move. Undo, Save
// and what the file holds are always there.

import { download, forget, post } from "./api.js";
import { NOUNS, count, failed, h, loading, plural, replace } from "./ui.js";

const EDITS = [
  { edit: "merge", title: "Merge", fits: (n) => n > 1, field: { name: "name", label: "Name (may be left out)", type: "text", required: false } },
  { edit: "split", title: "Split", fits: (n) => n === 1, field: { name: "n", label: "Into how many", type: "number", value: 2, min: 2, max: 50 } },
  { edit: "drop", title: "Drop", fits: (n) => n === 1 },
  { edit: "noise", title: "Mark as noise", fits: (n) => n === 1 },
  { edit: "reduce", title: "Reduce", fits: (n) => n === 0, field: { name: "n", label: "To how many", type: "number", min: 1 } },
];

let told = null; // what the last edit did, said on the page that it made

/** A button beside the name of a group, which makes the name a field; Enter renames. */
export function renamer(groups, names, item, edits, page) {
  const place = h("span");
  const start = () => {
    const field = h("input", { type: "text", value: names[item.name] || "", required: true, maxLength: 200, ariaLabel: "New name", onkeydown: (event) => { if (event.key === "Escape") { event.stopPropagation(); draw(); } } });
    const wrong = h("p.wrong", { role: "alert" });
    replace(place, h("form.row", { onsubmit: async (event) => {
      event.preventDefault();
      try {
        const state = await post("/api/edits/apply", { edit: "rename", group: edits.numbers[item.name], name: field.value.trim() });
        told = `Done: ${state.log[state.log.length - 1]}.`;
        forget();
        page.refresh();
      } catch (error) {
        wrong.textContent = error.message;
      }
    } }, field, h("button.primary", null, "Rename"), wrong));
    field.select();
  };
  const draw = () => replace(place, h("button", { type: "button", onclick: start }, "Rename"));
  draw();
  return place;
}

/** What can be done with the groups that are chosen by their boxes, or with the one of the page. */
export function editor(groups, names, edits, page, one = null) {
  const chosen = new Set(one === null ? [] : [one.name]);
  const many = NOUNS[groups.noun];
  const called = (key) => names[key] || `${groups.noun} ${key}`;
  const bar = h("div.row", { role: "toolbar", ariaLabel: "Edits" }), panel = h("div");
  const says = h("p", { role: "status", tabIndex: -1 }, told);

  const draw = () => replace(bar,
    one === null && h("strong", null, chosen.size ? `${plural(chosen.size, groups.noun, many)} chosen` : `Choose ${many} to edit`),
    EDITS.filter((each) => one === null || each.fits(1)).map((each) => h("button", { type: "button", disabled: !each.fits(chosen.size), onclick: () => ask(each) }, each.title)),
    h("span.space"),
    h("button", { type: "button", disabled: !edits.log.length, onclick: () => send("/api/edits/undo", {}, () => "The last edit is undone.") }, "Undo"),
    edits.saves_to ? h("button.primary", { type: "button", disabled: !edits.unsaved, onclick: () => send("/api/edits/save", {}, () => `Saved in ${edits.saves_to}.`) }, "Save")
      : h("button.primary", { type: "button", disabled: !edits.log.length, onclick: () => keep() }, "Download model"));

  const box = (item) => h("input", { type: "checkbox", ariaLabel: `Choose ${called(item.name)}`, onchange: (event) => {
    if (event.target.checked) chosen.add(item.name);
    else chosen.delete(item.name);
    replace(panel);
    draw();
  } });

  const send = async (path, body, done) => {
    replace(panel, loading("Editing ..."));
    try {
      told = done(await post(path, body));
      forget();
      if (one !== null && ["drop", "split", "noise"].includes(body.edit)) page.go(`#/groups/${edits.at}`); // the group is no more what it was
      else page.refresh();
    } catch (error) {
      replace(panel, failed(error));
    }
  };

  /** Have the edited model as a file. */
  const keep = async () => {
    try {
      replace(says, `Downloaded as ${await download("/api/edits/download")}.`);
    } catch (error) {
      replace(panel, failed(error, keep));
    }
  };

  /** Ask for what an edit needs, and show what it would move. */
  const ask = (each) => {
    const keys = [...chosen], { field } = each;
    const title = `${each.title} ${keys.length ? keys.map((key) => `“${called(key)}”`).join(", ") : `the ${count(groups.count)} ${many}`}`;
    const input = field && h("input", { type: field.type, required: field.required ?? true, min: field.min, max: field.max ?? groups.count, maxLength: field.type === "text" ? 200 : null,
      value: field.value ?? (field.type === "number" ? Math.max(1, Math.ceil(groups.count / 2)) : ""), id: "edit-value" });
    const outcome = h("div", { "aria-live": "polite" });
    const record = () => ({
      edit: each.edit,
      ...(each.edit === "merge" ? { groups: keys.map((key) => edits.numbers[key]) } : keys.length ? { group: edits.numbers[keys[0]] } : {}),
      ...(input && input.value.trim() ? { [field.name]: field.type === "number" ? Number(input.value) : input.value.trim() } : {}),
    });
    const show = async () => {
      const wanted = record();
      replace(outcome, loading("Looking what moves ..."));
      try {
        const moves = await post("/api/edits/preview", wanted);
        const make = h("button.primary", { type: "button", onclick: () => send("/api/edits/apply", wanted, (state) => `Done: ${state.log[state.log.length - 1]}.`) }, "Make this edit");
        replace(outcome, preview(moves, groups.noun, make));
        make.focus();
      } catch (error) {
        replace(outcome, h("p.wrong", { role: "alert" }, error.message));
      }
    };
    const close = () => replace(panel);
    replace(panel, h("section.card.edit", { ariaLabel: title, onkeydown: (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation(); // it closes this, not the page
      close();
    } }, h("h2", null, title), h("form.row", { onsubmit: (event) => { event.preventDefault(); show(); } },
      input && [h("label", { htmlFor: "edit-value" }, field.label), input],
      h("button", null, "Show what moves"), h("button.ghost", { type: "button", onclick: close }, "Cancel")), outcome));
    if (input) input.focus();
    else show();
  };

  draw();
  const element = h("div.editor", null, says, bar, h("p.soft.file", null, edits.file),
    edits.log.length > 0 && h("details", null, h("summary", null, `${plural(edits.log.length, "edit")} so far`), h("ol.log", null, edits.log.map((sentence) => h("li", null, sentence)))), panel);
  if (told) setTimeout(() => says.focus({ preventScroll: true }), 0);
  told = null;
  return { element, box };
}

/** How many objects an edit would move from where to where, and the button that makes it. */
function preview(moves, noun, make) {
  const then = ` There are ${plural(moves.groups.length, noun, NOUNS[noun])} then.`;
  if (!moves.moved) return [h("p", null, h("strong", null, "No object moves."), then), h("div.row", null, make)];
  return [
    h("p", null, h("strong", null, `${count(moves.moved)} of ${plural(moves.objects, "object")} ${moves.moved === 1 ? "moves" : "move"}.`), then),
    h("div.row", null, make),
    h("ul.flows", null, moves.flows.map((flow) => h("li", null, h("strong", null, count(flow.objects)), ` from ${flow.before} to ${flow.after}`))),
  ];
}
