"use strict";
(() => {
  const root = document.documentElement;
  const all = (query, within = document) => [...within.querySelectorAll(query)];

  // the theme: the system's, until the reader chooses; a page in a frame may not keep the choice
  const remember = (value) => { try { localStorage.setItem("coview-theme", value); } catch { /* private or framed */ } };
  const remembered = () => { try { return localStorage.getItem("coview-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = document.querySelector(".theme");
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; remember(root.dataset.theme); name(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();

  // tips
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);
  const show = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(6, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
    tip.style.top = (y + box.height + 24 > innerHeight ? y - box.height - 12 : y + 16) + "px";
  };
  const hide = () => { tip.hidden = true; };
  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest && event.target.closest("[data-tip]");
    if (mark) show(mark.dataset.tip, event.clientX, event.clientY);
    else hide();
  });
  document.addEventListener("pointerdown", (event) => {
    const mark = event.target.closest("[data-tip]");
    if (mark) show(mark.dataset.tip, event.clientX, event.clientY);
  });
  document.addEventListener("scroll", hide, { passive: true });

  // the map: pointing at a group, or at a name, dims all others
  for (const figure of all("[data-figure]")) {
    const map = figure.querySelector("svg.map");
    if (!map) continue;
    const light = (kind) => {
      map.classList.toggle("dim", Boolean(kind));
      for (const mark of all(".lit", map)) mark.classList.remove("lit");
      if (kind) for (const mark of all("." + kind, map)) mark.classList.add("lit");
    };
    for (const name of all("[data-of]", figure)) {
      const kind = name.dataset.of;
      for (const start of ["pointerenter", "focus"]) name.addEventListener(start, () => light(kind));
      for (const end of ["pointerleave", "blur"]) name.addEventListener(end, () => light(""));
    }
    for (const choice of all("button[data-by]", figure)) {
      choice.addEventListener("click", () => {
        figure.dataset.by = choice.dataset.by;
        for (const other of all(".choice button", figure)) other.setAttribute("aria-pressed", other === choice);
        map.classList.toggle("by-g", choice.dataset.by === "g");
        map.classList.toggle("by-l", choice.dataset.by === "l");
        figure.querySelector(".mapbox").dataset.by = choice.dataset.by;
        for (const kind of ["g", "l"]) all(".legend-" + kind, figure).forEach((part) => part.classList.toggle("hidden", kind !== choice.dataset.by));
      });
    }
  }

  // tables sort by a click on a column's head
  for (const table of all("table.sort")) {
    all("th button", table).forEach((head, column) => head.addEventListener("click", () => {
      const cell = head.closest("th"), numeric = cell.classList.contains("num");
      const down = cell.getAttribute("aria-sort") ? cell.getAttribute("aria-sort") === "ascending" : numeric;
      all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.v;
      const order = (a, b) => {
        if (numeric) {
          const [x, y] = [a, b].map((row) => (key(row) === "" ? NaN : Number(key(row))));
          if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y); // what is unknown comes last
          return down ? y - x : x - y;
        }
        return (down ? -1 : 1) * key(a).localeCompare(key(b), "en", { numeric: true });
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
    }));
  }

  // a filter of groups by their names and features
  for (const field of all("[data-filter]")) {
    const groups = all(".group", document.getElementById(field.dataset.filter));
    const tally = field.parentElement.querySelector("[data-count]");
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      let count = 0;
      for (const group of groups) {
        const fits = !wanted || group.textContent.toLowerCase().includes(wanted);
        group.classList.toggle("hidden", !fits);
        count += fits;
      }
      for (const rest of all(".rest", document.getElementById(field.dataset.filter))) rest.open = Boolean(wanted);
      tally.textContent = wanted ? count + " of " + groups.length : "";
    });
  }

  // contents: where the reader is
  const links = new Map(all("nav.contents a").map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.classList.remove("here");
      const link = links.get(entry.target.id);
      link.classList.add("here");
      const list = link.closest("ol");
      if (list.scrollWidth > list.clientWidth) list.scrollTo({ left: link.parentElement.offsetLeft - list.offsetLeft - 24, behavior: "smooth" });
    }
  }, { rootMargin: "-10% 0px -75% 0px" });
  for (const [id, link] of links) {
    link.addEventListener("click", (event) => {
      if (location.protocol !== "about:") return;
      event.preventDefault(); // in a notebook's frame a link to #id would load the notebook itself
      document.getElementById(id).scrollIntoView();
    });
  }
  for (const section of all("section[id]")) if (links.has(section.id)) seen.observe(section);
})();
