// --- the table of all jobs; only visible rows are made ---
const PAGE = 250;
const table = $("table");
let shownRows = PAGE;
let view = new Int32Array(0); // rows that pass the filter, sorted

const makeRow = (i) => {
  const id = jobAt(i);
  const row = element("tr", { id: "j" + id, className: stateColumn.text(i) });
  for (const column of columns) row.insertCell().textContent = column.text(i);
  row.cells[0].replaceChildren(element("a", { href: "#job=" + id }, ...row.cells[0].childNodes));
  row.classList.toggle("lit", id === state.job || state.pins.includes(id));
  return row;
};

const drawTable = () => {
  const body = document.createDocumentFragment();
  for (const i of view.subarray(0, shownRows)) body.append(makeRow(i));
  table.tBodies[0].replaceChildren(body);
  $("more").hidden = view.length <= shownRows;
  const part = view.length > shownRows ? `, the first ${shownRows} shown` : "";
  $("shown").textContent = `${view.length} of ${count} jobs${part}`;
};

const sortView = (rows = PAGE) => {
  const { column, descending } = state.sort;
  view = orderBy(column, descending).filter((i) => passing[i]);
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    if (columns[at] === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  shownRows = rows;
  drawTable();
};

const complain = (conditions) => {
  const wrong = conditions.map(complaint).find(Boolean) || "";
  $("wrong").textContent = wrong;
  $("wrong").hidden = !wrong;
  $("words").setAttribute("aria-invalid", wrong ? "true" : "false");
};

// Suggests columns for the word being typed.
const suggest = () => {
  const before = /^(.*\s)?(\S*)$/s.exec($("words").value);
  const typed = before[2].toLowerCase();
  const fitting = typed ? columns.filter((c) => c.key.startsWith(typed) && c.key !== typed).slice(0, 20) : [];
  $("columns").replaceChildren(...fitting.map((c) => new Option(c.name, (before[1] || "") + quote(c.name) + "=")));
};

const boxes = () => [...document.querySelectorAll("input[name=state]")];

const applyFilter = () => {
  if ($("words").value.trim() !== state.q) $("words").value = state.q;
  for (const box of boxes()) box.checked = !state.states || state.states.has(box.value);
  complain(runFilter());
  $("clear").hidden = !state.q && !state.states;
  $("passing").hidden = passingCount === count;
  $("passing-count").textContent = `${passingCount} of ${count} jobs pass the filter ${state.q}`;
};

const clearFilter = () => {
  state.states = null;
  setFilter("");
};

// Filters shortly after typing stops.
const prepareFilter = () => {
  const form = $("filter");
  let timer;
  form.hidden = false;
  form.addEventListener("input", () => {
    const chosen = boxes().filter((box) => box.checked).map((box) => box.value);
    suggest();
    clearTimeout(timer);
    timer = setTimeout(() => {
      state.states = chosen.length === boxes().length ? null : new Set(chosen);
      setFilter($("words").value);
    }, 120);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  $("clear").addEventListener("click", clearFilter);
  $("clear-all").addEventListener("click", clearFilter);
};

const sortBy = (column) => {
  const again = state.sort.column === column;
  state.sort = { column, descending: again ? !state.sort.descending : bestFirst(column) };
  changed("sort");
  remember();
};

const prepareTable = () => {
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    const button = head.appendChild(element("button", { type: "button" }, ...head.childNodes));
    button.addEventListener("click", () => sortBy(columns[at]));
  });
  prepareFilter();
  $("more").querySelector("button").addEventListener("click", () => {
    shownRows += 1000;
    drawTable();
  });
  on("filter", applyFilter);
  on("filter", sortView);
  on("sort", sortView);
  on("rows", applyFilter);
  on("rows", () => sortView(shownRows));
  on("job", markRows);
  on("pins", markRows);
};

const markRows = () => {
  const wanted = new Set(chosenJobs().map((id) => "j" + id));
  for (const row of table.tBodies[0].rows) row.classList.toggle("lit", wanted.has(row.id));
};
