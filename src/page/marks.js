// --- SVG plots: marks follow the filter, have tooltips, and can be used by keyboard and brush ---
const tip = $("tip");
const TIP_LINES = 14;
const BRUSHED_MOST = 500;

// Job, state and objective first, then what differs from the winner, then the rest.
const describe = (id) => {
  const i = rowOf.get(id);
  if (i === undefined) return "job " + id;
  const first = [jobColumn, stateColumn, failureColumn, sought];
  const differs = (c) => winner !== undefined && winner !== i && c.text(winner) !== c.text(i);
  const weight = (c) => {
    if (first.includes(c)) return first.indexOf(c);
    return !differs(c) ? 30 : c.role === "key" ? 10 : 20;
  };
  const line = (c) => {
    const text = (row) => (isBytes(c.unit) && c.text(row) ? short(c.number(row), c.unit) : c.text(row));
    const unit = !c.unit ? "" : isBytes(c.unit) ? ` (${c.text(i)} B)` : " " + c.unit;
    return `${c.name}  ${text(i)}${unit}${weight(c) === 10 ? `  (winner: ${text(winner)})` : ""}`;
  };
  return columns
    .filter((c) => c.text(i) !== "")
    .sort((a, b) => weight(a) - weight(b))
    .slice(0, TIP_LINES)
    .map(line)
    .join("\n");
};

// Next to the pointer, but within the window.
const tell = (id, x, y) => {
  tip.textContent = describe(id);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - box.height - 8)) + "px";
};

const hideTip = () => {
  tip.hidden = true;
};

const markOf = (event) => event.target.closest?.("svg [data-j]");

document.addEventListener("pointerover", (event) => {
  const mark = markOf(event);
  if (mark) tell(Number(mark.dataset.j), event.clientX, event.clientY);
  else if (!event.target.closest?.(".holder")) hideTip();
});

// Shows only marks of jobs that pass the filter.
let marks = null;
const dim = () => {
  marks ||= [...document.querySelectorAll("svg .m")].map((mark) => ({ mark, i: rowOf.get(Number(mark.dataset.j)) }));
  for (const one of marks) {
    const hidden = one.i !== undefined && !passing[one.i];
    if (hidden === Boolean(one.hidden)) continue;
    one.mark.style.display = hidden ? "none" : "";
    one.hidden = hidden;
  }
};

// Arrow keys go from mark to mark in drawing order.
const watchMarks = (svg) => {
  let here = null;
  // It handles keys itself, and replaces its frame in the tab order.
  svg.setAttribute("role", "application");
  svg.querySelector("desc").textContent += " Arrow keys go from mark to mark, Enter opens its job, p pins it.";
  svg.parentNode.removeAttribute("tabindex");
  svg.tabIndex = 0;
  svg.addEventListener("keydown", (event) => {
    const own = [...svg.querySelectorAll("[data-j]")].filter((m) => m.style.display !== "none");
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (event.key in steps && own.length) {
      const at = own.indexOf(here) + steps[event.key];
      here?.classList.remove("lit");
      here = own[(at + own.length) % own.length];
      here.classList.add("lit");
      const box = here.getBoundingClientRect();
      tell(Number(here.dataset.j), box.right, box.bottom);
      event.preventDefault();
    } else if (event.key === "Enter" && here) {
      visit(Number(here.dataset.j));
    } else if (event.key === "p" && here) {
      togglePin(Number(here.dataset.j));
    }
  });
  svg.addEventListener("blur", () => {
    here?.classList.remove("lit");
    hideTip();
  });
};

// --- brushing: a rectangle over marks keeps their jobs; along an axis of parallel coordinates, a range of values ---
const place = (svg, event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());

const within = (svg, a, b) => {
  const jobs = new Set();
  for (const mark of svg.querySelectorAll("[data-j]")) {
    if (mark.style.display === "none") continue;
    const box = mark.getBBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    if (x < Math.min(a.x, b.x) || x > Math.max(a.x, b.x) || y < Math.min(a.y, b.y) || y > Math.max(a.y, b.y)) continue;
    jobs.add(mark.dataset.j);
  }
  return [...jobs];
};

const axisNear = (svg, x) =>
  [...svg.querySelectorAll("[data-column]")].find((axis) => Math.abs(Number(axis.dataset.at) - x) < 30);

const alongAxis = (svg, axis, a, b) => {
  const column = columnOf(axis.dataset.column);
  const axes = svg.querySelector("[data-top]");
  const [top, bottom] = [Number(axes.dataset.top), Number(axes.dataset.bottom)];
  const share = (y) => (bottom - y) / (bottom - top);
  const [low, high] = [share(Math.max(a.y, b.y)), share(Math.min(a.y, b.y))];
  if (!column) return null;
  if (axis.dataset.low === undefined) {
    const most = column.levels.length - 1;
    return { column, values: column.levels.filter((_, code) => code / most >= low && code / most <= high) };
  }
  const [from, to] = [Number(axis.dataset.low), Number(axis.dataset.high)];
  return { column, from: from + Math.max(low, 0) * (to - from), to: from + Math.min(high, 1) * (to - from) };
};

const finishBrush = (svg, a, b) => {
  if (svg.querySelector("[data-top]")) {
    const axis = axisNear(svg, a.x);
    const condition = axis && alongAxis(svg, axis, a, b);
    if (!condition || (condition.values && !condition.values.length)) return;
    step();
    restrict([condition]);
    return;
  }
  const jobs = within(svg, a, b);
  if (!jobs.length || jobs.length > BRUSHED_MOST) return;
  step();
  restrict([{ column: jobColumn, values: jobs }]);
};

const watchBrush = (svg) => {
  let start = null;
  let box = null;
  let dragged = false;
  const end = () => {
    box?.remove();
    start = box = null;
  };
  svg.addEventListener("pointerdown", (event) => {
    start = event.button === 0 ? place(svg, event) : null;
  });
  svg.addEventListener("pointermove", (event) => {
    if (!start) return;
    const now = place(svg, event);
    if (!box && Math.hypot(now.x - start.x, now.y - start.y) < 6) return;
    if (!box) {
      box = svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "rect"));
      box.setAttribute("class", "brush");
      svg.setPointerCapture(event.pointerId);
    }
    for (const [name, value] of [["x", Math.min(now.x, start.x)], ["y", Math.min(now.y, start.y)],
      ["width", Math.abs(now.x - start.x)], ["height", Math.abs(now.y - start.y)]]) box.setAttribute(name, value);
    event.preventDefault();
  });
  svg.addEventListener("pointerup", (event) => {
    const [from, drew] = [start, box];
    end();
    if (from && drew) finishBrush(svg, from, place(svg, event));
    dragged = Boolean(drew);
  });
  svg.addEventListener("click", (event) => {
    if (!dragged && markOf(event)) visit(Number(markOf(event).dataset.j));
  });
  svg.addEventListener("pointercancel", end);
};

const watchChart = (svg) => {
  if (!svg.querySelector("[data-j]")) return;
  watchMarks(svg);
  watchBrush(svg);
};

const prepareMarks = () => {
  on("filter", dim);
  on("rows", dim);
};
