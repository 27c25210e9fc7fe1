"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const table = $("table");

  // --- rows: read once, sorted and filtered in an array, shown a page at a time ---
  const PAGE = 250;
  let shown = PAGE, order = [], view = [], titles = [], sorted = { column: 0, descending: false };

  const number = (text) => (text === "" ? NaN : text === "Infinity" ? Infinity : text === "-Infinity" ? -Infinity : Number(text));
  // Numbers before texts, nothing and NaN last, whichever the direction.
  const rank = (text) => (text === "" || text === "NaN" ? 2 : isNaN(number(text)) ? 1 : 0);
  const compare = (a, b, descending) => {
    const kind = rank(a) - rank(b);
    if (kind) return kind;
    const way = rank(a) === 0 ? number(a) - number(b) || 0 : a < b ? -1 : a > b ? 1 : 0;
    return descending ? -way : way;
  };

  const tests = { "=": (x, y) => x === y || number(x) === number(y), "!=": (x, y) => !tests["="](x, y),
    ">": (x, y) => number(x) > number(y), "<": (x, y) => number(x) < number(y),
    ">=": (x, y) => number(x) >= number(y), "<=": (x, y) => number(x) <= number(y) };
  // "deep zero_stage=3": every word must hold, a condition in its column, another anywhere in the row.
  const condition = (word) => {
    const parts = /^(.+?)(!=|>=|<=|=|>|<)(.*)$/.exec(word);
    const column = parts ? titles.indexOf(parts[1].toLowerCase()) : -1;
    if (column >= 0) return (row) => tests[parts[2]](row.cells[column], parts[3]);
    const wanted = word.toLowerCase();
    return (row) => row.text.includes(wanted);
  };

  const draw = () => {
    const body = table.tBodies[0];
    body.replaceChildren(...view.slice(0, shown).map((row) => row.element));
    $("more").hidden = view.length <= shown;
    $("shown").textContent = view.length + " of " + order.length + " jobs" + (view.length > shown ? ", the first " + shown + " shown" : "");
  };

  const apply = () => {
    const words = $("words").value.trim().split(/\s+/).filter(Boolean).map(condition);
    const states = new Set([...document.querySelectorAll("input[name=state]:checked")].map((box) => box.value));
    view = order.filter((row) => states.has(row.state) && words.every((holds) => holds(row)));
    view.sort((a, b) => compare(a.cells[sorted.column], b.cells[sorted.column], sorted.descending) || a.place - b.place);
    draw();
  };

  // Marks in plots come and go with the states and the filter.
  const dim = () => {
    const visible = new Set(view.map((row) => row.id));
    for (const mark of document.querySelectorAll("svg .m")) mark.style.display = visible.has(mark.dataset.j) ? "" : "none";
  };

  const sortBy = (column, head) => {
    sorted = { column, descending: sorted.column === column ? !sorted.descending : false };
    for (const th of table.tHead.rows[0].cells) th.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sorted.descending ? "descending" : "ascending");
    shown = PAGE;
    apply();
  };

  const prepareTable = () => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      titles.push(button.firstChild.textContent.trim().toLowerCase());
      head.append(button);
      button.addEventListener("click", () => sortBy(column, head));
    });
    order = [...table.tBodies[0].rows].map((element, place) => {
      const cells = [...element.cells].map((cell) => cell.textContent.trim());
      return { element, place, cells, id: element.id.slice(1), state: element.className, text: cells.join(" ").toLowerCase() };
    });
    const form = $("filter");
    form.hidden = false;
    let timer;
    form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => { shown = PAGE; apply(); dim(); }, 120); });
    form.addEventListener("submit", (event) => event.preventDefault());
    $("more").querySelector("button").addEventListener("click", () => { shown += 1000; draw(); });
    apply();
  };

  // A link to a job shows its row, also where the page of rows does not have it.
  const goTo = (id) => {
    const at = view.findIndex((row) => row.id === id);
    const row = at >= 0 ? view[at] : order.find((r) => r.id === id);
    if (!row) return;
    if (at < 0) { $("words").value = "job=" + id; document.querySelectorAll("input[name=state]").forEach((box) => { box.checked = true; }); apply(); }
    if (at >= shown) { shown = at + 1; draw(); }
    document.querySelectorAll("tr.lit").forEach((tr) => tr.classList.remove("lit"));
    row.element.classList.add("lit");
    row.element.scrollIntoView({ block: "center" });
  };

  // --- what a point is ---
  const tip = $("tip");
  const byId = (id) => order.find((row) => row.id === id);
  const tell = (mark, x, y) => {
    const row = byId(mark.dataset.j);
    tip.textContent = row ? row.cells.map((cell, i) => (cell === "" ? "" : titles[i] + "  " + cell)).filter(Boolean).slice(0, 14).join("\n")
      : "job " + mark.dataset.j;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - box.height - 8)) + "px";
  };
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest && event.target.closest("[data-j]");
    if (mark) tell(mark, event.clientX, event.clientY);
    else tip.hidden = true;
  });
  document.addEventListener("click", (event) => {
    const mark = event.target.closest("[data-j]"), link = event.target.closest("a[href^='#j']");
    if (mark) goTo(mark.dataset.j);
    if (link && /^#j\d+$/.test(link.hash)) { event.preventDefault(); goTo(link.hash.slice(2)); }
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });

  // --- heat maps: one of them at a time ---
  const maps = [...document.querySelectorAll(".map")];
  const showMap = (changed) => {
    const x = $("heat-x"), y = $("heat-y");
    if (x.value === y.value) {
      const other = changed === x ? y : x;
      other.value = [...other.options].map((o) => o.value).find((v) => v !== changed.value);
    }
    const fits = (m, a, b) => m.dataset.x === a && m.dataset.y === b;
    let found = maps.find((m) => fits(m, x.value, y.value)) || maps.find((m) => fits(m, y.value, x.value));
    maps.forEach((m) => { m.hidden = m !== found; });
    if (found) { x.value = found.dataset.x; y.value = found.dataset.y; }
  };
  if (maps.length) {
    const keys = [...new Set(maps.flatMap((m) => [m.dataset.x, m.dataset.y]))];
    for (const select of [$("heat-x"), $("heat-y")]) {
      select.append(...keys.map((key) => new Option(key, key)));
      select.addEventListener("change", () => showMap(select));
    }
    $("heat-x").value = maps[0].dataset.x;
    $("heat-y").value = maps[0].dataset.y;
    $("heat-keys").hidden = false;
    $("heat-keys").addEventListener("submit", (event) => event.preventDefault());
    showMap($("heat-x"));
  }

  // --- dark and light, and copying ---
  const root = document.documentElement, theme = $("theme");
  const isDark = () => root.classList.contains("dark") || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  const label = () => { theme.textContent = isDark() ? "light" : "dark"; };
  theme.hidden = false;
  label();
  theme.addEventListener("click", () => { const dark = isDark(); root.classList.toggle("dark", !dark); root.classList.toggle("light", dark); label(); });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const range = document.createRange();
      range.selectNodeContents($(button.dataset.copy));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      const done = () => { button.textContent = "copied"; };
      if (navigator.clipboard) navigator.clipboard.writeText($(button.dataset.copy).textContent.trimEnd()).then(done, () => {});
      else if (document.execCommand("copy")) done();
    });
  }
  if (table) prepareTable();
  if (/^#j\d+$/.test(location.hash)) goTo(location.hash.slice(2));
})();
