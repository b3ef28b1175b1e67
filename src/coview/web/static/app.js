// The explorer: which page the address means, the menu, the keys, and light or dark.

import { about, decoded } from "./api.js";
import { fill, h, replace, setViews } from "./ui.js";
import { overview } from "./overview.js";
import { group, groupList } from "./groups.js";
import { objectList, objectPage } from "./objects.js";
import { views } from "./views.js";
import { labeling } from "./labeling.js";
import { checking } from "./checking.js";
import { attempt } from "./attempt.js";
import { modelPage } from "./model.js";

const main = document.getElementById("main");
let pages = [];
let model = null;
let current = null; // {up, left, right}: what the keys do here
let stop = null; // ends what the last page still waits for

const NAMES = { overview: "Overview", groups: "Groups", objects: "Objects", views: "Views", label: "Label next", check: "Check labels", try: "Try it", model: "Model" };
const SHOW = { groups: groupList, objects: objectList, views, label: labeling, check: checking, try: attempt, model: modelPage };

const menu = (model) => model.pages.map((name) => ({ path: name === "overview" ? "" : name, name: NAMES[name] }));

function drawMenu(path) {
  const here = (page) => page.path === path || (page.path && path.startsWith(page.path + "/"))
    || (page.path === "objects" && path.startsWith("object/"));
  replace(document.getElementById("nav"), pages.map((page, i) =>
    h("a", { href: `#/${page.path}`, class: here(page) ? "here" : "", "aria-current": here(page) ? "page" : null },
      page.name, i < 9 && h("kbd", null, i + 1))));
  const active = document.querySelector("nav .here"); // on a phone the menu scrolls
  if (active) active.parentElement.scrollLeft = active.offsetLeft - active.parentElement.offsetLeft - 60;
}

function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path.replace(/\/$/, ""), params: new URLSearchParams(query || "") };
}

/** Show the page anew, of a model that has changed. */
function refresh() {
  model = null;
  show();
}

async function show() {
  const { path, params } = read();
  if (stop) stop.abort();
  stop = new AbortController();
  current = { go: (address) => { location.hash = address; }, refresh, signal: stop.signal };
  if (model === null) {
    await fill(main, async () => {
      model = await about();
      setViews(model.views.map((view) => view.name));
      pages = menu(model);
      return h("div");
    }, "Loading the model ...");
    if (model === null) return;
  }
  drawMenu(path);
  const parts = path.split("/");
  const context = { model, params, page: current };
  const place = h("div.page");
  replace(main, place);
  window.scrollTo(0, 0);
  const [first, at, key] = parts.map(decoded);
  if (path === "") overview(place, context);
  else if (first === "groups" && key !== undefined) group(place, context, Number(at), key);
  else if ((first === "object" || first === "objects") && at) objectPage(place, context, at);
  else if (model.pages.includes(first) && first in SHOW) SHOW[first](place, context, at === undefined ? null : Number(at));
  else replace(place, h("div.state.empty", null, h("strong", null, "There is no such page"),
    h("p", null, h("a", { href: "#/" }, "Back to the overview"))));
}

// -- keys

const entries = () => [...main.querySelectorAll("[data-entry]")].filter((el) => el.offsetParent !== null);

function move(step) {
  const all = entries();
  if (!all.length) return;
  const at = all.findIndex((el) => el === document.activeElement || el.contains(document.activeElement));
  const next = all[Math.min(Math.max(at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step, 0), all.length - 1)];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function keys(event) {
  const typing = /^(input|textarea|select)$/i.test(event.target.tagName) && event.target.type !== "checkbox";
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const help = document.getElementById("help");
  if (event.key === "Escape") {
    if (help.open) return;
    if (typing) {
      event.preventDefault(); // a search field would be wiped
      event.target.blur();
    } else if (current && current.up) current.go(current.up);
    return;
  }
  if (typing) {
    if (event.key === "ArrowDown" && event.target.tagName === "INPUT") { event.preventDefault(); move(1); }
    return;
  }
  const does = {
    "/": () => {
      const field = main.querySelector("[data-search]");
      if (field) { field.focus(); field.select(); }
      else current.go("#/objects");
    },
    "?": () => help.showModal(),
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => entries().length && move(1),
    ArrowUp: () => entries().length && move(-1),
    ArrowLeft: () => current.left && current.go(current.left),
    ArrowRight: () => current.right && current.go(current.right),
  }[event.key];
  if (does && !help.open) {
    event.preventDefault();
    does();
  } else if (/^[1-9]$/.test(event.key) && pages[event.key - 1]) {
    current.go(`#/${pages[event.key - 1].path}`);
  }
}

// -- light and dark

const themes = ["auto", "light", "dark"];
const themeButton = document.getElementById("theme");

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  localStorage.setItem("coview-theme", theme);
  const [sign, name] = { auto: ["◐", "Auto"], light: ["○", "Light"], dark: ["●", "Dark"] }[theme];
  replace(themeButton, sign, h("span", null, ` ${name}`));
}

themeButton.addEventListener("click", () => {
  const now = localStorage.getItem("coview-theme") || "auto";
  setTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
});
document.getElementById("help-button").addEventListener("click", () => document.getElementById("help").showModal());
document.addEventListener("keydown", keys);
window.addEventListener("hashchange", show);
setTheme(themes.includes(localStorage.getItem("coview-theme")) ? localStorage.getItem("coview-theme") : "auto");
show();
