// --- the panel with one job, or several side by side: #job=7, #pin=7,12 ---
const details = JSON.parse($("details")?.textContent || "{}");
const panel = $("chosen");
let onlyDifferences = true;
let cameFrom = null;

// What an attempt records of its environment; everything else in it is its outcome.
const SURROUNDINGS = ["host", "executor", "reference", "slot", "meshsweep", "working_directory", "git_commit",
  "versions", "cpu", "gpus", "scripts"];
const GROUPS = ["outcome", "configuration", "measured", "predicted", "command", "environment", "where it ran", "files",
  "output"];
const OUTCOME = ["does_not_meet", "held", "reason", "devices", "timeout_ms", "idle_timeout_ms", "startup_timeout_ms"];

const withUnit = (value, unit) => {
  const text = short(value, unit);
  return unit && !isBytes(unit) ? `${text} ${unit.split(",")[0]}` : text;
};

// The text of a cell, and the full text for its tooltip.
const cell = (text, full = text) => ({ text: String(text), full: String(full) });

const metricCell = (m) => {
  if (m.value === undefined) return cell(m.note ? `none: ${m.note}` : "none");
  const [mean, low, high] = [0, -1, 1].map((side) => short(m.mean + side * m.half_width, m.unit));
  const interval = m.half_width ? `, mean ${mean} (95 % if samples are independent: ${low} to ${high})` : "";
  return cell(withUnit(Number(m.value), m.unit || "") + interval, `${m.value} ${m.unit || ""}, ${m.samples} samples`);
};

const attemptWords = (a) => [
  `${a.attempt}: ${a.failure || a.state}`,
  a.duration_ms !== undefined ? `${short(a.duration_ms / 1000)} s` : "",
  a.exit_code ? `status ${a.exit_code}` : "",
  a.signal ? `signal ${a.signal}` : "",
  a.started || "",
  a.message || "",
  a.consequence ? `then: ${a.consequence}` : "",
  a.left_out || "",
].filter(Boolean).join(", ");

const linkFiles = (attempt) => {
  const path = [data.files, ...attempt.files.split("/"), attempt.packed ? "output.log.gz" : "output.log"];
  return element("a", { href: path.map(encodeURIComponent).join("/") }, path.join("/"));
};

// A map from "group\nlabel" to a cell, in display order.
const factsOf = (id) => {
  const facts = new Map();
  const i = rowOf.get(id);
  const known = details[id];
  const add = (group, label, what) => what !== undefined && what.text !== "" && facts.set(`${group}\n${label}`, what);
  add("outcome", "state", cell([stateColumn.text(i), failureColumn?.text(i)].filter(Boolean).join(", ")));
  if (columnOf("error")) add("outcome", "message", cell(columnOf("error").text(i)));
  for (const name of OUTCOME) if (known?.job[name] !== undefined) add("outcome", name, cell(known.job[name]));
  for (const c of keys) add("configuration", c.name, cell(keyText(c, c.text(i)), c.text(i)));
  for (const [name, text] of Object.entries(data.constants)) {
    const unit = data.sizes.includes(name) ? "B" : "";
    add("configuration", name, cell(keyText({ unit, role: "key" }, text), text));
  }
  if (known?.metrics.length) {
    for (const m of known.metrics) add("measured", m.name, metricCell(m));
  } else {
    for (const c of columns) {
      if (c.role === "metric" && c.text(i)) add("measured", c.name, cell(withUnit(c.number(i), c.unit), c.text(i)));
    }
  }
  for (const name of ["predicted_memory", "predicted_time"]) {
    const c = columnOf(name);
    if (c?.text(i)) add("predicted", name, cell(withUnit(c.number(i), c.unit), c.text(i)));
  }
  for (const name of ["predicted_memory_of", "predicted_to"]) {
    if (known?.job[name]) add("predicted", name, cell(known.job[name]));
  }
  for (const name of ["excluded", "notes", "tags"]) add("outcome", name, cell(columnOf(name)?.text(i) || ""));
  if (!known) return facts;
  const last = known.attempts.filter((a) => !a.purpose).pop() || {};
  const before = known.attempts_left_out ? [`${known.attempts_left_out} earlier ones: meshsweep show ${id}`] : [];
  add("outcome", "attempts", cell([...before, ...known.attempts.map(attemptWords)].join("\n")));
  for (const name of SURROUNDINGS) if (last[name] !== undefined) add("where it ran", name, cell(last[name]));
  for (const entry of known.environment) {
    const at = entry.indexOf("=");
    add("environment", entry.slice(0, at), cell(entry.slice(at + 1)));
  }
  if (last.files) {
    add("files", "output", { ...cell(last.files), element: data.files ? () => linkFiles(last) : undefined });
  }
  const elsewhere = known.measured_elsewhere ? `none: measured elsewhere (${known.measured_elsewhere})` : "";
  add("command", "shell", cell(known.shell || elsewhere));
  add("output", "its end", cell(known.tail || ""));
  for (const f of known.given_files) if (f.attempt === last.attempt) add("files given", f.name, cell(f.text));
  const fixtureWords = (f) => [f.values, f.state, f.log, f.message].filter(Boolean).join(", ");
  for (const f of known.fixtures) if (f.attempt === last.attempt) add("fixtures", f.name, cell(fixtureWords(f)));
  const fileWords = (f) => `${f.name} (${f.bytes} bytes${f.note ? `, ${f.note}` : ""})`;
  if (known.left_files.length) add("output", "files left", cell(known.left_files.map(fileWords).join("\n")));
  add("outcome", "key", cell(known.job.key));
  return facts;
};

// Highlights the words that the first job's text does not have.
const markWords = (holder, text, base) => {
  const known = new Set(base.split(/\s+/));
  const marked = (word) => (!word.trim() || known.has(word) ? word : element("mark", {}, word));
  holder.append(...text.split(/(\s+)/).map(marked));
};

const fillCell = (td, fact, label, base) => {
  if (!fact) {
    td.textContent = "–";
    return;
  }
  const long = label === "shell" || label === "its end" || fact.text.includes("\n");
  const holder = long ? td.appendChild(element("pre", { tabIndex: 0 })) : td;
  if (fact.element) holder.append(fact.element());
  else if (label === "shell" && base && base !== fact) markWords(holder, fact.text, base.text);
  else holder.textContent = fact.text;
  if (fact.full !== fact.text) td.title = fact.full;
};

const copyButton = (words, text) => {
  const button = element("button", { type: "button" }, words);
  button.addEventListener("click", () => {
    const done = () => {
      button.textContent = "copied";
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => copyBySelecting(text, done));
    else copyBySelecting(text, done);
  });
  return button;
};

const headOf = (id) => {
  const pinned = state.pins.includes(id);
  const title = element("b", {}, `job ${id}${rowOf.get(id) === winner ? ", the winner" : ""}`);
  const pin = element("button", { type: "button" }, pinned ? "unpin" : "pin");
  pin.addEventListener("click", () => {
    if (pinned && state.job === id) state.job = null;
    togglePin(id);
  });
  const th = element("th", { scope: "col" }, title, " ", pin, " ", copyButton("copy show", `meshsweep show ${id}`));
  if (details[id]?.shell) th.append(" ", copyButton("copy command", details[id].shell));
  return th;
};

const objectiveCell = (id, base) => {
  const value = sought.number(rowOf.get(id));
  const first = sought.number(rowOf.get(base));
  if (!isFinite(value)) return cell("none");
  const ratio = value / first - 1;
  const sign = ratio > 0 ? "+" : "";
  const against = id !== base && isFinite(ratio) ? `, ${sign}${digits(ratio * 100)} % against job ${base}` : "";
  return cell(withUnit(value, sought.unit) + against, String(value));
};

const drawPanel = (ids) => {
  const facts = ids.map(factsOf);
  const labels = [...new Set(facts.flatMap((f) => [...f.keys()]))];
  const side = element("table", { className: "plain" });
  const head = side.createTHead().insertRow();
  const body = side.createTBody();
  let hidden = 0;
  head.append(element("td"), ...ids.map(headOf));
  if (sought) {
    const cells = ids.map((id) => objectiveCell(id, ids[0]));
    if (cells.some((c) => c.text !== "none")) addLine(body, sought.name, cells);
  }
  for (const group of GROUPS) {
    const own = labels.filter((label) => label.startsWith(group + "\n"));
    const differing = own.filter((label) => new Set(facts.map((f) => f.get(label)?.text)).size > 1);
    const shown = ids.length > 1 && onlyDifferences ? differing : own;
    hidden += own.length - shown.length;
    if (!shown.length) continue;
    body.insertRow().append(element("th", { className: "group", colSpan: ids.length + 1 }, group));
    for (const label of shown) addLine(body, label.split("\n")[1], facts.map((f) => f.get(label)));
  }
  $("chosen-table").replaceChildren(side);
  drawChosenCurves(ids);
  $("chosen-differ").parentNode.hidden = ids.length < 2;
  $("chosen-none").hidden = state.pins.length < 2;
  $("chosen-note").textContent = [
    ids.length > 1 && onlyDifferences && hidden ? `${hidden} rows are the same and not shown.` : "",
    noteOn(ids.filter((id) => changedJobs.has(id)), "The page was made before the last change of "),
    noteOn(ids.filter((id) => !changedJobs.has(id) && !details[id]), "The page has no room for "),
  ].filter(Boolean).join(" ");
};

const noteOn = (ids, why) => ids.length === 0 ? ""
  : `${why}${ids.map((id) => `job ${id}`).join(", ")}: meshsweep show has its attempts, command and output.`;

const drawChosenCurves = (ids) => {
  const has = curveNames.length > 0 && ids.some((id) => curves[id]);
  $("chosen-curves").hidden = !has;
  if (has) drawCurvesOf(ids.filter((id) => curves[id]?.[curveMetric()]), $("chosen-plot"), $("chosen-legend"));
};

const addLine = (body, label, cells) => {
  const row = body.insertRow();
  row.append(element("th", { scope: "row" }, label));
  for (const fact of cells) fillCell(row.insertCell(), fact, label, cells[0]);
  if (cells.length > 1 && new Set(cells.map((c) => c?.text)).size > 1) row.className = "differs";
};

const showChosen = () => {
  const ids = state.shut ? [] : chosenJobs();
  showPinned();
  const opens = panel.hidden && ids.length > 0;
  if (opens) cameFrom = document.activeElement;
  panel.hidden = !ids.length;
  document.body.classList.toggle("beside", ids.length > 0);
  if (!ids.length) return;
  panel.classList.toggle("wide", ids.length > 1);
  $("chosen-title").textContent = ids.length > 1 ? `${ids.length} jobs side by side` : `Job ${ids[0]}`;
  drawPanel(ids);
  if (opens) $("chosen-title").focus({ preventScroll: true });
};

const closeChosen = () => {
  if (panel.hidden) return;
  state.job = null;
  state.shut = true;
  step();
  changed("job");
  cameFrom?.focus?.({ preventScroll: true });
};

// Pinned jobs stay when the panel is closed.
const showPinned = () => {
  const all = state.pins.length;
  $("pinned").hidden = all === 0 || !state.shut;
  $("pinned-count").textContent = `${all} pinned ${all === 1 ? "job" : "jobs"}`;
};

const prepareChosen = () => {
  $("pinned-show").addEventListener("click", () => {
    state.shut = false;
    step();
    changed("job");
  });
  for (const name of ["pinned-none", "chosen-none"]) {
    $(name).addEventListener("click", () => {
      state.pins = [];
      step();
      changed("pins", "job");
    });
  }
  $("chosen-close").addEventListener("click", closeChosen);
  $("chosen-differ").addEventListener("change", () => {
    onlyDifferences = $("chosen-differ").checked;
    showChosen();
  });
  on("job", showChosen);
};
