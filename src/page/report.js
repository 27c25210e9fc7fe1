"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const table = $("table");

  // --- rows: read once, sorted and filtered in an array, shown a page at a time ---
  const PAGE = 250;
  const titles = [];
  let shown = PAGE;
  let order = []; // all rows, as the page has them
  let view = []; // those that pass the filter, sorted
  let sorted = { column: 0, descending: false };
  let sought = -1; // the objective's column
  let winner = null; // its row

  // Number() knows "Infinity" and "-Infinity"; nothing is no number, and not 0.
  const number = (text) => (text === "" ? NaN : Number(text));

  // Numbers before texts, nothing and NaN last, whichever the direction.
  const rank = (text) => {
    if (text === "" || text === "NaN") return 2;
    return isNaN(number(text)) ? 1 : 0;
  };

  const byText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

  const compare = (a, b, descending) => {
    const kind = rank(a) - rank(b);
    if (kind) return kind;
    // Two infinities differ by NaN: they are equal.
    const way = rank(a) === 0 ? number(a) - number(b) || 0 : byText(a, b);
    return descending ? -way : way;
  };

  const tests = {
    "=": (x, y) => x === y || number(x) === number(y),
    "!=": (x, y) => !tests["="](x, y),
    ">": (x, y) => number(x) > number(y),
    "<": (x, y) => number(x) < number(y),
    ">=": (x, y) => number(x) >= number(y),
    "<=": (x, y) => number(x) <= number(y),
  };

  const split = (word) => /^(.+?)(!=|>=|<=|=|>|<)(.*)$/.exec(word);

  // "deep zero_stage=3": every word must hold, a condition in its column, another anywhere in the row.
  const condition = (word) => {
    const parts = split(word);
    const column = parts ? titles.indexOf(parts[1].toLowerCase()) : -1;
    if (column >= 0) return (row) => tests[parts[2]](row.cells[column], parts[3]);
    const wanted = word.toLowerCase();
    return (row) => row.text.includes(wanted);
  };

  // How many letters differ, for a column that was mistyped.
  const distance = (a, b) => {
    let last = [...Array(b.length + 1).keys()];
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) {
        next[j] = Math.min(last[j] + 1, next[j - 1] + 1, last[j - 1] + (a[i - 1] !== b[j - 1]));
      }
      last = next;
    }
    return last[b.length];
  };

  // What is wrong with a word of the filter; "" where nothing is.
  const complaint = (word) => {
    const parts = split(word);
    if (!parts) return "";
    const [, name, sign, value] = parts;
    if (titles.includes(name.toLowerCase())) {
      const compares = sign.startsWith("<") || sign.startsWith(">");
      return compares && isNaN(number(value)) ? `${word}: “${value}” is no number` : "";
    }
    const near = [...titles].sort((a, b) => distance(name, a) - distance(name, b))[0];
    const hint = near && distance(name.toLowerCase(), near) <= 3 ? `; did you mean ${near}?` : "";
    return `there is no column ${name}${hint}`;
  };

  const complain = (words) => {
    const wrong = words.map(complaint).find(Boolean) || "";
    $("wrong").textContent = wrong;
    $("wrong").hidden = !wrong;
    $("words").setAttribute("aria-invalid", wrong ? "true" : "false");
  };

  // Columns for the word that is being typed.
  const suggest = () => {
    const before = /^(.*\s)?(\S*)$/.exec($("words").value);
    const typed = before[2].toLowerCase();
    const fitting = typed ? titles.filter((t) => t.startsWith(typed) && t !== typed).slice(0, 20) : [];
    $("columns").replaceChildren(...fitting.map((t) => new Option(t, (before[1] || "") + t + "=")));
  };

  const draw = () => {
    const body = table.tBodies[0];
    body.replaceChildren(...view.slice(0, shown).map((row) => row.element));
    $("more").hidden = view.length <= shown;
    const part = view.length > shown ? `, the first ${shown} shown` : "";
    $("shown").textContent = `${view.length} of ${order.length} jobs${part}`;
  };

  const apply = () => {
    const typed = $("words").value.trim().split(/\s+/).filter(Boolean);
    const words = typed.map(condition);
    complain(typed);
    const checked = [...document.querySelectorAll("input[name=state]:checked")];
    const states = new Set(checked.map((box) => box.value));
    const { column, descending } = sorted;
    view = order.filter((row) => states.has(row.state) && words.every((holds) => holds(row)));
    view.sort((a, b) => compare(a.cells[column], b.cells[column], descending) || a.place - b.place);
    draw();
  };

  // Marks in plots come and go with the states and the filter.
  const dim = () => {
    const visible = new Set(view.map((row) => row.id));
    for (const mark of document.querySelectorAll("svg .m")) {
      mark.style.display = visible.has(mark.dataset.j) ? "" : "none";
    }
  };

  const setOrder = (column, descending) => {
    const heads = [...table.tHead.rows[0].cells];
    sorted = { column, descending };
    for (const th of heads) th.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
    shown = PAGE;
  };

  // The best first, where it is known which way that is.
  const bestFirst = (column) => column === sought && table.dataset.best === "max";

  const sortBy = (column) => {
    setOrder(column, sorted.column === column ? !sorted.descending : bestFirst(column));
    apply();
    remember();
  };

  const makeSortable = () => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      titles.push(button.firstChild.textContent.trim().toLowerCase());
      head.append(button);
      button.addEventListener("click", () => sortBy(column));
    });
  };

  const readRow = (element, place) => {
    const cells = [...element.cells].map((cell) => cell.textContent.trim());
    return {
      element,
      place,
      cells,
      id: element.id.slice(1),
      state: element.className,
      text: cells.join(" ").toLowerCase(),
    };
  };

  // What is typed is waited for a moment: each look goes through all rows.
  const prepareFilter = () => {
    const form = $("filter");
    const refilter = () => {
      shown = PAGE;
      apply();
      dim();
      remember();
    };
    let timer;
    form.hidden = false;
    form.addEventListener("input", () => {
      suggest();
      clearTimeout(timer);
      timer = setTimeout(refilter, 120);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
  };

  const prepareTable = () => {
    makeSortable();
    order = [...table.tBodies[0].rows].map(readRow);
    sought = titles.indexOf((table.dataset.sought || "").toLowerCase());
    winner = order.find((row) => row.id === table.dataset.winner) || null;
    if (sought >= 0) setOrder(sought, bestFirst(sought));
    prepareFilter();
    $("more").querySelector("button").addEventListener("click", () => {
      shown += 1000;
      draw();
    });
    apply();
  };

  // --- what is shown stands in the address: #job=7, #q=zero_stage%3D3&states=ok&sort=throughput:desc&theme=dark ---
  const boxes = () => [...document.querySelectorAll("input[name=state]")];

  const address = (job) => {
    const now = new URLSearchParams();
    if (job) now.set("job", job);
    if (table && $("words").value.trim()) now.set("q", $("words").value.trim());
    if (table && boxes().some((box) => !box.checked)) {
      now.set("states", boxes().filter((box) => box.checked).map((box) => box.value).join(","));
    }
    const { column, descending } = sorted;
    if (table && !(column === Math.max(sought, 0) && descending === bestFirst(column))) {
      now.set("sort", titles[column] + (descending ? ":desc" : ":asc"));
    }
    const theme = ["dark", "light"].find((name) => document.documentElement.classList.contains(name));
    if (theme) now.set("theme", theme);
    return "#" + now;
  };

  const remember = () => history.replaceState(null, "", address());

  const recallTable = (then) => {
    const [name, way] = (then.get("sort") || "").split(/:(?=(?:asc|desc)$)/);
    const column = titles.indexOf(name);
    const states = then.get("states");
    $("words").value = then.get("q") || "";
    for (const box of boxes()) box.checked = states === null || states.split(",").includes(box.value);
    if (column >= 0) setOrder(column, way === "desc");
    else if (sought >= 0) setOrder(sought, bestFirst(sought));
    apply();
    dim();
  };

  // The address of a section is the browser's own.
  const recall = () => {
    const row = /^#j(\d+)$/.exec(location.hash);
    if (location.hash && !row && !location.hash.includes("=")) return;
    const then = new URLSearchParams(row ? "job=" + row[1] : location.hash.slice(1));
    for (const theme of ["dark", "light"]) {
      document.documentElement.classList.toggle(theme, then.get("theme") === theme);
    }
    label();
    if (table) recallTable(then);
    if (table && then.get("job")) goTo(then.get("job"));
  };

  // Where one was is a step back.
  const visit = (id) => {
    history.pushState(null, "", address(id));
    goTo(id);
  };

  // A link to a job shows its row, also where the page of rows does not have it.
  const goTo = (id) => {
    const at = view.findIndex((row) => row.id === id);
    const row = at >= 0 ? view[at] : order.find((r) => r.id === id);
    if (!row) return;
    if (at < 0) {
      $("words").value = "job=" + id;
      for (const box of boxes()) box.checked = true;
      apply();
    }
    if (at >= shown) {
      shown = at + 1;
      draw();
    }
    for (const lit of document.querySelectorAll("tr.lit")) lit.classList.remove("lit");
    row.element.classList.add("lit");
    row.element.scrollIntoView({ block: "center" });
  };

  // --- what a point is ---
  const tip = $("tip");
  const TIP_LINES = 14;

  // The job, its state and what is sought, then what differs from the winner, then the rest.
  const describe = (id) => {
    const row = order.find((r) => r.id === id);
    if (!row) return "job " + id;
    const first = [0, titles.indexOf("state"), titles.indexOf("failure"), sought];
    const differs = (i) => winner && winner !== row && winner.cells[i] !== row.cells[i];
    const weight = (i) => (first.includes(i) ? first.indexOf(i) : differs(i) ? 10 : 20);
    const places = titles.map((_, i) => i).filter((i) => row.cells[i] !== "");
    places.sort((a, b) => weight(a) - weight(b) || a - b);
    return places
      .slice(0, TIP_LINES)
      .map((i) => `${titles[i]}  ${row.cells[i]}${weight(i) === 10 ? `  (winner: ${winner.cells[i]})` : ""}`)
      .join("\n");
  };

  // Beside the pointer, but within the window.
  const tell = (mark, x, y) => {
    tip.textContent = describe(mark.dataset.j);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - box.height - 8)) + "px";
  };

  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest?.("[data-j]");
    if (mark) tell(mark, event.clientX, event.clientY);
    else tip.hidden = true;
  });

  document.addEventListener("click", (event) => {
    const mark = event.target.closest("[data-j]");
    const link = event.target.closest("a[href^='#j']");
    if (mark) visit(mark.dataset.j);
    if (link && /^#j\d+$/.test(link.hash)) {
      event.preventDefault();
      visit(link.hash.slice(2));
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
  });

  // --- heat maps: one of them at a time ---
  const maps = [...document.querySelectorAll(".map")];
  const heatX = $("heat-x");
  const heatY = $("heat-y");

  // There is one map of two keys: it is shown whichever way round they were chosen.
  const findMap = (a, b) => maps.find((m) => m.dataset.x === a && m.dataset.y === b);

  const choose = (map) => {
    heatX.value = map.dataset.x;
    heatY.value = map.dataset.y;
  };

  const showMap = (changed) => {
    if (heatX.value === heatY.value) {
      const other = changed === heatX ? heatY : heatX;
      other.value = [...other.options].map((o) => o.value).find((v) => v !== changed.value);
    }
    const found = findMap(heatX.value, heatY.value) || findMap(heatY.value, heatX.value);
    for (const map of maps) map.hidden = map !== found;
    if (found) choose(found);
  };

  const prepareMaps = () => {
    const keys = [...new Set(maps.flatMap((m) => [m.dataset.x, m.dataset.y]))];
    for (const select of [heatX, heatY]) {
      select.append(...keys.map((key) => new Option(key, key)));
      select.addEventListener("change", () => showMap(select));
    }
    choose(maps[0]);
    $("heat-keys").hidden = false;
    $("heat-keys").addEventListener("submit", (event) => event.preventDefault());
    showMap(heatX);
  };

  // --- dark and light ---
  const root = document.documentElement;
  const theme = $("theme");

  const isDark = () => {
    if (root.classList.contains("dark")) return true;
    if (root.classList.contains("light")) return false;
    return matchMedia("(prefers-color-scheme: dark)").matches;
  };

  const label = () => {
    theme.textContent = isDark() ? "light" : "dark";
  };

  const prepareTheme = () => {
    theme.hidden = false;
    label();
    theme.addEventListener("click", () => {
      const dark = isDark();
      root.classList.toggle("dark", !dark);
      root.classList.toggle("light", dark);
      label();
      remember();
    });
  };

  // --- copying: what is copied is selected, too, for where copying is not allowed ---
  const copy = (button) => {
    const source = $(button.dataset.copy);
    const range = document.createRange();
    const done = () => {
      button.textContent = "copied";
    };
    range.selectNodeContents(source);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (navigator.clipboard) navigator.clipboard.writeText(source.textContent.trimEnd()).then(done, () => {});
    else if (document.execCommand("copy")) done();
  };

  const prepareCopying = () => {
    for (const button of document.querySelectorAll("[data-copy]")) {
      button.hidden = false;
      button.addEventListener("click", () => copy(button));
    }
  };

  // --- all of it ---
  if (maps.length) prepareMaps();
  prepareTheme();
  prepareCopying();
  if (table) prepareTable();
  if (location.hash) recall();
  window.addEventListener("popstate", recall);
})();
