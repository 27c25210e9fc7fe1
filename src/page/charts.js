// --- the plots of the whole sweep: each is drawn once, from what the page has for it, and keeps its marks ---
const POINTS_MOST = 1500; // as in sections.h

// In place of `place`; its description is the note that follows, unless `desc` is given.
const openChart = (place, title, width, height, desc = place.nextElementSibling.textContent) => {
  const box = element("div", { className: "plot", tabIndex: 0 });
  const [titleId, descId] = [`${place.id}-t`, `${place.id}-d`];
  const svg = draw(box, "svg", {
    viewBox: `0 0 ${width} ${height}`, style: `max-width:${width * 1.15}px`, role: "img",
    "aria-labelledby": `${titleId} ${descId}`,
  });
  draw(svg, "title", { id: titleId }, title);
  draw(svg, "desc", { id: descId }, desc);
  place.before(box);
  return svg;
};

// With two axes, each { title, scale }.
const openPlot = (place, title, x, y) => {
  const [width, height] = [960, 420];
  const svg = openChart(place, title, width, height);
  const frame = makeFrame(width, height, x.scale, y.scale);
  drawAxes(svg, frame, [x, y].map((axis) => axis.title + unitOf(axis.scale)));
  return { svg, frame };
};

const addMark = (svg, x, y, id, failure) => {
  if (failure) draw(svg, "path", { class: `m x-${failure}`, "data-j": id, d: crossAt(x, y) });
  else draw(svg, "circle", { class: "m o", "data-j": id, cx: coordinate(x), cy: coordinate(y), r: 3.5 });
};

// A line from each place to the next first across, then up.
const steps = (places, end) => {
  const [first, ...rest] = places.map((place) => place.map(coordinate));
  return `M${first.join(" ")}${rest.map(([x, y]) => `H${x}V${y}`).join("")}H${coordinate(end)}`;
};

const rangeOfAll = (values) => values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)],
  [Infinity, -Infinity]);

// { fronts: [[job]…] }, one for each group, in order of memory.
const drawFront = (place, { fronts }) => {
  const memory = columnOf(data.memory);
  const way = data.maximise ? -1 : 1;
  const rows = [...passing.keys()]
    .filter((i) => stateColumn.text(i) === "ok" && isFinite(memory.number(i)) && isFinite(sought.number(i)))
    .sort((a, b) => memory.number(a) - memory.number(b) || way * (sought.number(a) - sought.number(b)));
  const { svg, frame } = openPlot(place, "Objective against memory, with the Pareto front",
    { title: memory.name, scale: makeScale(...rangeOfAll(rows.map(memory.number)), false, memory.unit) },
    { title: sought.name, scale: makeScale(...rangeOfAll(rows.map(sought.number)), false, sought.unit, true) });
  const at = (i) => [frame.px(memory.number(i)), frame.py(sought.number(i))];
  const lines = fronts.map((jobs) => jobs.map((id) => rowOf.get(id)));
  const onFront = new Set(lines.flat());
  const stride = Math.ceil(rows.length / POINTS_MOST);
  for (const line of lines) draw(svg, "path", { class: "front", d: steps(line.map(at), frame.right) });
  rows.forEach((i, n) => n % stride || onFront.has(i) || addMark(svg, ...at(i), jobAt(i)));
  for (const i of onFront) {
    const [cx, cy] = at(i).map(coordinate);
    draw(svg, "circle", { class: "m o on-front", "data-j": jobAt(i), cx, cy, r: 5 });
  }
};

// { unit, ends: [low, high], points: [[job, measured, predicted]…] }
const drawPredicted = (place, { unit, ends, points }) => {
  const what = place.id.replace("predicted-", "");
  const scale = makeScale(...ends, true, unit);
  const { svg, frame } = openPlot(place, "Predicted against measured",
    { title: `measured ${what}`, scale }, { title: `predicted ${what}`, scale });
  draw(svg, "path", { class: "even", d: `M${frame.left} ${frame.bottom}L${frame.right} ${frame.top}` });
  for (const [job, measured, predicted] of points) addMark(svg, frame.px(measured), frame.py(predicted), job);
};

// { attempts, ends: [low, high], points: [[attempt, job, value, failure]…], best: [[attempt, value]…] }
const drawLearning = (place, { attempts, ends, points, best }) => {
  const { svg, frame } = openPlot(place, "Best objective so far by attempt",
    { title: "attempt, in the order in which they ended", scale: makeScale(1, attempts, false) },
    { title: sought.name, scale: makeScale(...ends, false, sought.unit, true) });
  for (const [attempt, job, value, failure] of points) {
    addMark(svg, frame.px(attempt), failure ? frame.bottom - 4 : frame.py(value), job, failure);
  }
  if (best.length) {
    const places = best.map(([attempt, value]) => [frame.px(attempt), frame.py(value)]);
    draw(svg, "path", { class: "front", d: steps(places, frame.px(attempts)) });
  }
};

const charts = { front: drawFront, predicted: drawPredicted, learning: drawLearning };

const drawCharts = () => {
  for (const place of document.querySelectorAll("script.chart")) {
    charts[/^[a-z]+/.exec(place.id)[0]](place, JSON.parse(place.textContent));
  }
};
