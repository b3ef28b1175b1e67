// Edits of groups: choose some, see which objects would move, then merge, rename, split, drop, mark as noise, or reduce.

import { download, forget, post } from "./api.js";
import { count, entry, failed, folded, h, loading, objectLine, plural, replace } from "./ui.js";

const MANY = { cluster: "clusters", topic: "topics" };
const MOVED = 10; // objects at a time
const EDITS = [
  { edit: "merge", title: "Merge", fits: (n) => n > 1, field: { name: "name", label: "Name (may be left out)", type: "text", required: false } },
  { edit: "rename", title: "Rename", fits: (n) => n === 1, field: { name: "name", label: "New name", type: "text", required: true } },
  { edit: "split", title: "Split", fits: (n) => n === 1, field: { name: "n", label: "Into how many", type: "number", value: 2, min: 2, max: 50 } },
  { edit: "drop", title: "Drop", fits: (n) => n === 1 },
  { edit: "noise", title: "Mark as noise", fits: (n) => n === 1 },
  { edit: "reduce", title: "Reduce", fits: (n) => n === 0, field: { name: "n", label: "To how many", type: "number", min: 1 } },
];

let told = null; // what the last edit did, said on the page that it made

/** Boxes to choose groups by, and what can be done with the chosen ones. */
export function editor(part, edits, page) {
  const chosen = new Set(); // positions of groups
  const many = MANY[part.kind];
  const bar = h("div.row.editbar", { role: "toolbar", ariaLabel: "Edits" });
  const panel = h("div");
  const says = h("p", { role: "status", tabIndex: -1 }, told);
  const boxes = new Map();
  const number = (index) => edits.numbers[index];

  const draw = () => replace(bar,
    h("strong", null, chosen.size ? `${plural(chosen.size, part.kind, many)} chosen` : `Choose ${many}`),
    EDITS.map((each) => h("button", { type: "button", disabled: !each.fits(chosen.size), onclick: () => ask(each) }, each.title)),
    h("button", { type: "button", disabled: !edits.log.length, onclick: () => send("/api/edits/undo", {}, () => "The last edit is undone.") }, "Undo"),
    h("button", { type: "button", disabled: !edits.log.length, onclick: () => keep() }, "Download model"),
    edits.saves_to && h("button.primary", { type: "button", disabled: !edits.unsaved, onclick: () => send("/api/edits/save", {}, () => `Saved in ${edits.saves_to}.`) }, "Save"));

  const toggle = (group, on) => {
    if (on) chosen.add(group.index);
    else chosen.delete(group.index);
    replace(panel);
    draw();
  };

  const box = (group) => {
    const mark = h("input", { type: "checkbox", checked: chosen.has(group.index), "data-entry": true, ariaLabel: `Choose ${group.name}`, onchange: () => toggle(group, mark.checked) });
    boxes.set(group.index, mark);
    return mark;
  };

  const send = async (path, body, done) => {
    replace(panel, loading("Editing ..."));
    try {
      told = done(await post(path, body));
      forget();
      page.refresh();
    } catch (error) {
      replace(panel, failed(error, () => send(path, body, done)));
    }
  };

  /** Have the edited model as a file. */
  const keep = async () => {
    replace(panel, loading("Writing the model ..."));
    try {
      const name = await download("/api/edits/download");
      replace(says, `Downloaded as ${name}.`);
      replace(panel);
      says.focus({ preventScroll: true });
    } catch (error) {
      replace(panel, failed(error, keep));
    }
  };

  /** Ask for what an edit needs, and show what it would move. */
  const ask = (each) => {
    const groups = part.groups.filter((group) => chosen.has(group.index));
    const title = `${each.title} ${groups.length ? groups.map((group) => `“${group.name}”`).join(", ") : `the ${count(part.groups.length)} ${many}`}`;
    const { field } = each;
    const input = field && h("input", { type: field.type, required: field.required ?? true, min: field.min, max: field.max ?? part.groups.length, maxLength: field.type === "text" ? 200 : null,
      value: field.value ?? (field.type === "number" ? Math.max(1, Math.ceil(part.groups.length / 2)) : ""), id: "edit-value" });
    const outcome = h("div", { "aria-live": "polite" });
    const record = () => ({
      edit: each.edit,
      ...(each.edit === "merge" ? { groups: groups.map((group) => number(group.index)) } : groups.length ? { group: number(groups[0].index) } : {}),
      ...(input && input.value.trim() ? { [field.name]: field.type === "number" ? Number(input.value) : input.value.trim() } : {}),
    });
    const show = async () => {
      const wanted = record();
      replace(outcome, loading(each.edit === "split" ? "Fitting the parts ..." : "Looking what moves ..."));
      try {
        const moves = await post("/api/edits/preview", wanted);
        const make = h("button.primary", { type: "button", onclick: () => send("/api/edits/apply", wanted, (state) => `Done: ${state.log[state.log.length - 1]}.`) }, "Make this edit");
        replace(outcome, ...preview(moves, part.kind, make));
        make.focus();
      } catch (error) {
        replace(outcome, failed(error));
      }
    };
    const close = () => {
      replace(panel);
      const [first] = [...chosen];
      if (boxes.has(first)) boxes.get(first).focus();
    };
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

  const log = edits.log.length > 0 && h("details", null, h("summary", null, `${plural(edits.log.length, "edit")} so far`),
    h("ol.log", null, edits.log.map((sentence) => h("li", null, sentence))));
  draw();
  const around = h("div.editor", null, says, bar,
    h("p.soft", null, edits.file ?? "The model file stays as it is, and edits end with the explorer. To keep them, download the edited model, or start the explorer with --save-edits FILE."),
    log, panel);
  if (told) setTimeout(() => says.focus({ preventScroll: true }), 0);
  told = null;
  return { element: around, box };
}

/** What an edit would do: how many objects go from where to where, the button that makes it, and the first of the objects. */
function preview(moves, kind, make) {
  const then = ` There are ${plural(moves.groups.length, kind, MANY[kind])} then.`;
  if (!moves.moved) return [h("p", null, h("strong", null, "No object moves."), then), h("div.row", null, make)];
  return [
    h("p", null, h("strong", null, `${count(moves.moved)} of ${plural(moves.objects, "object")} ${moves.moved === 1 ? "moves" : "move"}.`), then),
    h("div.row", null, make),
    h("table.plain.numbers", null, h("thead", null, h("tr", null, ["From", "To", "Objects"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, moves.flows.map((flow) => h("tr", null, h("td", null, flow.before), h("td", null, flow.after), h("td.number", null, count(flow.objects)))))),
    h("details", { open: true }, h("summary", null, moves.first.length < moves.moved ? `The first ${count(moves.first.length)} of them` : "These objects"),
      folded(moves.first, (one) => entry(one.id, true, objectLine(one), h("span.soft", null, `${one.before} → ${one.after}`)), MOVED, h("ul.list"))),
  ];
}
