// Small pieces that all pages are made of. Text is always set as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: h("a.card", {href: "#/"}, "text", child, ...). */
export function h(what, props, ...children) {
  const [tag, ...classes] = what.split(".");
  const el = document.createElement(tag || "div");
  if (classes.length) el.className = classes.join(" ");
  for (const [key, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) el.addEventListener(key.slice(2), value);
    else if (key === "class") el.classList.add(...value.split(" ").filter(Boolean));
    else if (key === "width%") el.style.width = `${value}%`;
    else if (key in el && key !== "list" && key !== "form") el[key] = value;
    else el.setAttribute(key, value === true ? "" : value);
  }
  put(el, children);
  return el;
}

export function put(el, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    el.append(child instanceof Node ? child : String(child));
  }
  return el;
}

export function replace(el, ...children) {
  el.replaceChildren();
  return put(el, children);
}

export function svg(tag, props, ...children) {
  const el = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(props || {})) el.setAttribute(key, value);
  for (const child of children) el.append(child);
  return el;
}

// -- states

export const loading = (what = "Loading ...") => h("div.state", { role: "status" }, h("span.spin"), what);
export const empty = (title, ...more) => h("div.state.empty", null, h("strong", null, title), h("p", null, ...more));

export function failed(error, again) {
  return h("div.state.error", { role: "alert" },
    h("strong", null, error.status === 401 ? "A token is required" : "Something went wrong"),
    h("p", null, error.message),
    error.status === 401 ? tokenForm() : again && h("button.primary", { onclick: again }, "Try again"));
}

function tokenForm() {
  const field = h("input", { type: "password", placeholder: "Token", ariaLabel: "Token", autocomplete: "off" });
  return h("form.row", { onsubmit: (event) => {
    event.preventDefault();
    sessionStorage.setItem("coview-token", field.value.trim());
    location.reload();
  } }, field, h("button.primary", null, "Use it"));
}

const latest = new WeakMap(); // place -> the last thing asked of it: a slow old answer never replaces a newer one

/** Show a loading state, then what `make` gives, or what went wrong. */
export async function fill(place, make, what) {
  const mine = {};
  latest.set(place, mine);
  const draw = (content) => { if (latest.get(place) === mine) replace(place, content); };
  const waiting = setTimeout(() => draw(loading(what)), 120); // quick answers do not flicker
  try {
    draw(await make());
  } catch (error) {
    if (error.name !== "AbortError") draw(failed(error, () => fill(place, make, what)));
  } finally {
    clearTimeout(waiting);
  }
}

// -- numbers and words

export const count = (n) => n.toLocaleString("en");
export const percent = (x) => (x > 0 && x < 0.0005 ? "< 0.1 %" : `${x >= 0.0995 || x === 0 ? Math.round(100 * x) : (100 * x).toFixed(1)} %`);
export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + "s"}`;

// -- views have colors, the same everywhere

let order = [];
export const setViews = (names) => { order = names; };
export const viewClass = (view) => `v${Math.max(order.indexOf(view), 0) % 6}`;
/** Views that have no opinion, in a line; nothing where all have one. */
export const unusedViews = (views) => views.length > 0 && h("p.soft", null, `Not used by the model, and so without an opinion: ${views.join(", ")}.`);

export const viewName = (view) => h("span.view", { class: viewClass(view) }, view);

/** Features of a group in a view as words with bars; of measurements with how far they lie from the mean of all. */
export function features(list, view, deviations, most = 10, least = 0) {
  const largest = Math.max(...list.map(([, weight]) => Math.abs(weight)), least, 1e-12);
  return h("ul.features", { class: viewClass(view) }, list.slice(0, most).map(([name, weight]) =>
    h("li", { title: `${name}: ${Number(weight.toPrecision(3))}${deviations ? " standard deviations from the mean of all objects" : ""}` },
      h("span.bar", { class: weight < 0 ? "minus" : "", "width%": Math.max(2, 100 * Math.abs(weight) / largest) }),
      h("span.name", null, deviations ? `${weight < 0 ? "low" : "high"} ${name} ` : name, deviations && h("small", null, signed(weight))))));
}

export const signed = (x) => `${x < 0 ? "\u2212" : "+"}${Math.abs(x).toFixed(1)}`;

/** Features as chips that wrap; the larger the value the stronger the color. */
export function chips(list, view, most = 24) {
  const largest = Math.max(...list.map(([, value]) => Math.abs(value)), 1e-12);
  return folded(list, ([name, value]) => {
    const strength = Math.abs(value) / largest;
    const shown = Number.isInteger(value) ? value : Number(value.toPrecision(3));
    return h("li", { class: strength > 0.66 ? "s3" : strength > 0.33 ? "s2" : "s1" }, name,
      shown !== 1 && h("small", null, ` ${shown}`));
  }, most, h("ul.chips", { class: viewClass(view) }));
}

/** Shares of groups as bars, with numbers where they are probabilities; [[name, position, share], ...]. */
export function shares(list, to, view, probabilities) {
  return h("ul.shares", { class: view ? viewClass(view) : "all" }, list.map(([name, index, share]) =>
    h("li", null,
      h(to ? "a.name" : "span.name", { href: to && to(index) }, name),
      h("span.track", null, h("span.bar", { "width%": 100 * Math.min(Math.max(share, 0), 1) })),
      h("span.value", null, probabilities && percent(share)))));
}

/** Parts of a score; [{name, adds}, ...]. */
export function parts(list, view, named = (part) => part.name) {
  const largest = Math.max(...list.map((part) => Math.abs(part.adds)), 1e-12);
  return h("ul.parts", { class: view ? viewClass(view) : "" }, list.map((part) => h("li", { class: part.adds < 0 ? "minus" : "plus" },
    h("span.name", null, named(part)),
    h("span.track", null, h("span.bar", { "width%": 100 * Math.abs(part.adds) / largest })),
    h("span.value", null, (part.adds < 0 ? "\u2212" : "+") + Math.abs(part.adds).toFixed(3)))));
}

const LONG = 28; // characters of a name that may not fit into a line

/** The name of an object, whole; a long one breaks between words, package.module.function, rather than inside of them. */
export function objectName(id) {
  const text = String(id);
  return h("span.id", null, text.length > LONG ? text.split(/(?<=[._])(?=[A-Za-z_])/).flatMap((part) => [part, h("wbr")]) : text);
}

/** An object in a line: its name, and what the table says of it in short. */
export const objectLine = (one, ...more) => h("span.what", null, objectName(one.id), one.about && h("span.about", null, one.about), more);
/** What is shown of an object beside its name: a line of the table, else what it has most of. */
export const contentOf = (thing) => thing.text ?? Object.values(thing.words).flatMap((words) => words.slice(0, 2)).slice(0, 6).join(", ");
export const groupHref = (at, key) => `#/groups/${at}/${encodeURIComponent(key)}`;
export const NOUNS = { class: "classes", cluster: "clusters", topic: "topics", component: "components" };
export const capital = (text) => text[0].toUpperCase() + text.slice(1);
export const objectHref = (id) => `#/object/${encodeURIComponent(id)}`;

/** An object in a list; the keys move from entry to entry. Those that cannot be shown have no link. */
export const entry = (id, known, ...children) => h("li", null,
  h("a.entry", { href: known ? objectHref(id) : null, "data-entry": true }, children));

/** The first children of a long list, and a button for the next ones; `make` gives an element for an item. */
export function folded(items, make, most, box = h("div")) {
  let shown = 0;
  const more = h("button.more", { type: "button", onclick: () => show() });
  const show = () => {
    const next = items.slice(shown, shown + most);
    shown += next.length;
    put(box, next.map(make));
    const left = items.length - shown;
    more.textContent = left > most ? `Show ${most} more of ${count(left)}` : `Show ${count(left)} more`;
    more.hidden = shown >= items.length;
  };
  show();
  return h("div.folded", null, box, more);
}

/** Enter in a field of a filter opens the first entry. */
export const opensFirst = (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  const first = document.querySelector("main a[data-entry][href]");
  if (first) location.hash = first.getAttribute("href");
};

/** Links to the page before and after one of a long list; `to` gives the address of a start. */
export function pager({ start, total, objects }, to) {
  const last = start + objects.length;
  const link = (name, from, there) => h("a.button", { href: there ? to(from) : null, class: there ? "" : "off" }, name);
  return total > objects.length && h("div.row", null,
    link("← Before", Math.max(0, start - 50), start > 0), link("After →", last, last < total));
}

export function heading(text, ...more) {
  document.title = `${text} · coview`;
  return h("div.heading", null, h("h1", null, text), more);
}

/** A link to another part of the page that keeps what is set in the address. */
export function hash(path, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== "" && value != null));
  return `#/${path}${query.size ? "?" + query : ""}`;
}
