// --- the state of the page, kept in its address: #q=zero_stage%3D3&sort=throughput:desc&pin=7,12&theme=dark ---
const bestFirst = (column) => column === sought && data.maximise;
const root = document.documentElement;

// Names of columns and metrics, and ranges.
const choices = ["x", "y", "colour", "facet", "join", "curve", "zoomx", "zoomy"];
const switches = ["logx", "logy", "logcurve"];

const state = {
  q: "",
  states: null, // null: all
  sort: { column: sought || jobColumn, descending: bestFirst(sought) },
  pins: [],
  job: null,
  shut: false, // whether the panel is closed although jobs are pinned
  theme: null,
  plot: {},
};

// Pinned jobs and the open one.
const chosenJobs = () => [...new Set([...state.pins, state.job].filter((id) => id !== null))];

const listeners = { filter: [], sort: [], pins: [], job: [], plot: [], rows: [] };
const on = (what, listener) => listeners[what].push(listener);
// Calls each listener once, in order of registration.
const changed = (...what) => {
  for (const listener of new Set(what.flatMap((name) => listeners[name]))) listener();
};

const isUsualSort = () => {
  const { column, descending } = state.sort;
  return column === (sought || jobColumn) && descending === bestFirst(column);
};

const address = () => {
  const now = new URLSearchParams();
  if (state.job !== null) now.set("job", state.job);
  if (state.pins.length) now.set("pin", state.pins.join(","));
  if (state.shut && state.pins.length) now.set("shut", "1");
  if (state.q) now.set("q", state.q);
  if (state.states) now.set("states", [...state.states].join(","));
  if (!isUsualSort()) now.set("sort", state.sort.column.name + (state.sort.descending ? ":desc" : ":asc"));
  for (const name of choices) if (state.plot[name]) now.set(name, state.plot[name]);
  for (const name of switches) if (state.plot[name]) now.set(name, "1");
  if (state.theme) now.set("theme", state.theme);
  return "#" + now;
};

const remember = () => history.replaceState(null, "", address());

// Adds a step that the browser can go back from.
const step = () => history.pushState(null, "", address());

const recallSort = (text) => {
  const [, name, way] = /^(.*?)(?::(asc|desc))?$/s.exec(text || "");
  const column = columnOf(name) || sought || jobColumn;
  state.sort = { column, descending: name ? way === "desc" : bestFirst(column) };
};

// The part of the state behind each kind of listener, so that a change of address calls only those concerned.
const concerns = {
  filter: () => [state.q, state.states && [...state.states]],
  sort: () => [state.sort.column.name, state.sort.descending],
  plot: () => [state.plot, state.theme],
  pins: () => state.pins,
  job: () => [state.job, state.pins, state.shut],
};
const kinds = Object.keys(concerns);
const stand = () => kinds.map((kind) => JSON.stringify(concerns[kind]()));
let isNew = true; // no listener has been called yet

// Addresses of sections are left to the browser.
const recall = () => {
  const row = /^#j(\d+)$/.exec(location.hash);
  if (location.hash && !row && !location.hash.includes("=")) return;
  const before = isNew ? [] : stand();
  const then = new URLSearchParams(row ? "job=" + row[1] : location.hash.slice(1));
  const known = (text) => (text || "").split(",").filter((id) => id && rowOf.has(Number(id))).map(Number);
  state.q = then.get("q") || "";
  state.states = then.has("states") ? new Set(then.get("states").split(",").filter(Boolean)) : null;
  state.pins = [...new Set(known(then.get("pin")))];
  state.job = known(then.get("job"))[0] ?? null;
  state.shut = then.get("shut") === "1";
  for (const name of choices) state.plot[name] = then.get(name) || undefined;
  for (const name of switches) state.plot[name] = then.get(name) === "1";
  state.theme = ["dark", "light"].find((name) => name === then.get("theme")) || null;
  recallSort(then.get("sort"));
  for (const theme of ["dark", "light"]) root.classList.toggle(theme, state.theme === theme);
  const now = stand();
  isNew = false;
  changed(...kinds.filter((_, at) => now[at] !== before[at]));
};

// --- the rows that pass the filter ---
let passing = new Uint8Array(count).fill(1);
let passingCount = count;

const runFilter = () => {
  const conditions = tokens(state.q).map(parse);
  const tests = conditions.map(compile);
  const states = stateColumn && state.states && stateColumn.levels.map((name) => state.states.has(name));
  passing = new Uint8Array(count);
  passingCount = 0;
  for (let i = 0; i < count; i++) {
    if (states && !states[stateColumn.codes[i]]) continue;
    if (!tests.every((holds) => holds(i))) continue;
    passing[i] = 1;
    passingCount++;
  }
  return conditions;
};

const setFilter = (text) => {
  state.q = text.trim();
  changed("filter");
  remember();
};

const rounded = (value) => String(Number(value.toPrecision(5)));

// Replaces the filter's conditions on these columns.
const restrict = (conditions) => {
  const names = new Set(conditions.map((c) => c.column.key));
  const kept = tokens(state.q).filter((token) => !names.has((parse(token).column || {}).key));
  const added = conditions.flatMap(({ column, from, to, values }) =>
    values
      ? [`${quote(column.name)}=${values.map(quote).join("|")}`]
      : [`${quote(column.name)}>=${rounded(from)}`, `${quote(column.name)}<=${rounded(to)}`]);
  setFilter([...kept, ...added].join(" "));
};

// --- pins and the open job ---
const togglePin = (id) => {
  state.shut = false;
  state.pins = state.pins.includes(id) ? state.pins.filter((pin) => pin !== id) : [...state.pins, id];
  changed("pins", "job");
  remember();
};

const visit = (id) => {
  state.job = id;
  state.shut = false;
  step();
  changed("job");
};
