// --- the plots of the whole sweep: each is drawn once, from what the page has for it, and keeps its marks ---
const POINTS_MOST = 1500; // as in sections.h

// In front of `place`.
const openChart = (place, id, title, desc, width, height) => {
  const box = element("div", { className: "plot", tabIndex: 0 });
  const svg = draw(box, "svg", {
    viewBox: `0 0 ${width} ${height}`, style: `max-width:${width * 1.15}px`, role: "img",
    "aria-labelledby": `${id}-t ${id}-d`,
  });
  draw(svg, "title", { id: `${id}-t` }, title);
  draw(svg, "desc", { id: `${id}-d` }, desc);
  place.before(box);
  return svg;
};

// With two axes, each { title, scale }; the note that follows describes it.
const openPlot = (place, title, x, y) => {
  const [width, height] = [960, 420];
  const svg = openChart(place, place.id, title, place.nextElementSibling.textContent, width, height);
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

const isOk = (i) => stateColumn.text(i) === "ok";

const rangeOfAll = (values) => values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)],
  [Infinity, -Infinity]);

// { fronts: [[job]…] }, one for each group, in order of memory.
const drawFront = (place, { fronts }) => {
  const memory = columnOf(data.memory);
  const way = data.maximise ? -1 : 1;
  const rows = [...passing.keys()]
    .filter((i) => isOk(i) && isFinite(memory.number(i)) && isFinite(sought.number(i)))
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
  return svg;
};

// { unit, ends: [low, high], points: [[job, measured, predicted]…] }
const drawPredicted = (place, { unit, ends, points }) => {
  const what = place.id.replace("predicted-", "");
  const scale = makeScale(...ends, true, unit);
  const { svg, frame } = openPlot(place, "Predicted against measured",
    { title: `measured ${what}`, scale }, { title: `predicted ${what}`, scale });
  draw(svg, "path", { class: "even", d: `M${frame.left} ${frame.bottom}L${frame.right} ${frame.top}` });
  for (const [job, measured, predicted] of points) addMark(svg, frame.px(measured), frame.py(predicted), job);
  return svg;
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
  return svg;
};

// --- the time line: a bar for each attempt, a lane for each slot ---
// { lanes: [name…], length: ms, gaps: [[ms, text]…], bars: [[job, lane, from, to, failure]…] }
const drawTimeline = (place, { lanes, length, gaps, bars }) => {
  const tall = lanes.length > 16 ? 12 : 26;
  const edges = { left: 150, right: 936, top: 20, bottom: 20 + tall * lanes.length };
  const svg = openChart(place, place.id, "Attempts by slot over time",
    "One bar per attempt, in the lane of its slot; failed attempts have the colour of their class.",
    960, edges.bottom + 46);
  const scale = makeScale(0, length || 1, false, "ms", true);
  const frame = makeFrame(0, 0, scale, null, edges);
  drawAxes(svg, frame, ["time at work since the first start" + unitOf(scale)]);
  const names = draw(svg, "g", { class: "axis" });
  lanes.forEach((name, at) =>
    draw(names, "text", { x: edges.left - 8, y: edges.top + tall * (at + 0.5) + 4, "text-anchor": "end" }, name));
  for (const [at, text] of gaps) {
    const x = coordinate(frame.px(at));
    draw(svg, "path", { class: "gap", d: `M${x} ${edges.top - 4}V${edges.bottom}` });
    if (text) draw(svg, "text", { class: "small", x, y: edges.top - 7, "text-anchor": "middle" }, text);
  }
  for (const [job, lane, from, to, failure] of bars) {
    const width = frame.px(to) - frame.px(from);
    draw(svg, "rect", {
      class: `m ${failure ? `x-${failure}` : "o"}`, "data-j": job, x: coordinate(frame.px(from)),
      y: edges.top + tall * lane + 2, width: coordinate(width > 1.2 ? width - 0.4 : 0.8), height: tall - 4,
    });
  }
  return svg;
};

// --- parallel coordinates: an axis for each key that varies and one for the objective, a line for each job ---
const LINES_MOST = 1000; // as in heat.c
const GOOD_MOST = 100; // best jobs that are highlighted
const CHARACTER = 7; // approximate width

// Where the values of a column lie, 0…1: evenly, many numbers in proportion.
const shareOfKey = ({ levels, numeric }) => {
  if (!numeric || levels.length <= LEVELS_PLACED) return (code) => code / (levels.length - 1);
  return (code) => shareOf(Number(levels[0]), Number(levels[levels.length - 1]), Number(levels[code]));
};

const drawKeyAxis = (group, at, x, before, { top, bottom }, column) => {
  const { levels } = column;
  const share = shareOfKey(column);
  const isByNumber = column.numeric && levels.length > LEVELS_PLACED;
  const ends = isByNumber ? { "data-low": levels[0], "data-high": levels[levels.length - 1] } : {};
  // Labels must fit between this axis and the previous one.
  const most = Math.min(12, Math.floor((x - before - 10) / CHARACTER));
  draw(group, "path", { d: `M${coordinate(x)} ${top}V${bottom}`, "data-at": x, "data-column": column.name, ...ends });
  draw(group, "text", {
    class: "name", x: at ? coordinate(x) : 2, y: top - (at % 2 ? 28 : 14), "text-anchor": at ? "middle" : "start",
  }, shortened(column.name, 24));
  levels.forEach((text, code) => code % Math.ceil(levels.length / 12) || draw(group, "text", {
    x: coordinate(x - 5), y: coordinate(bottom - share(code) * (bottom - top) + 4), "text-anchor": "end",
  }, shortened(keyText(column, text), most)));
};

const drawObjectiveAxis = (group, at, x, { top, bottom }, [low, high]) => {
  draw(group, "path", {
    d: `M${coordinate(x)} ${top}V${bottom}`, "data-at": x, "data-column": sought.name, "data-low": low,
    "data-high": high,
  });
  draw(group, "text", { class: "name", x: 956, y: top - (at % 2 ? 28 : 14), "text-anchor": "end" },
    shortened(sought.name + unitOf(sought), 40));
  const ticks = linearTicks(low, high, 6);
  shortAll(ticks, sought.unit).forEach((text, i) => draw(group, "text", {
    x: coordinate(x + 6), y: coordinate(bottom - shareOf(low, high, ticks[i]) * (bottom - top) + 4),
  }, text));
};

// In drawing order, as [row, class]: failed jobs, the others, the best ones.
const parallelRows = (values) => {
  const stride = Math.ceil(count / LINES_MOST);
  const goodness = (i) => (data.maximise ? 1 : -1) * values[i];
  const order = [...values.keys()].filter((i) => isFinite(values[i]) && i !== winner)
    .sort((a, b) => goodness(a) - goodness(b) || b - a);
  const good = Math.min(GOOD_MOST, Math.max(Math.floor(order.length / 20), Math.min(20, order.length)));
  const others = order.length - good;
  return [
    ...[...values.keys()].filter((i) => i % stride === 0 && hasFailed(i)).map((i) => [i, ""]),
    ...order.slice(0, others).filter((_, at) => at % stride === 0).map((i) => [i, ""]),
    ...order.slice(others).map((i) => [i, " good"]),
    ...(winner === undefined ? [] : [[winner, " top"]]),
  ];
};

// { keys: [title…] }
const drawParallel = (place, { keys: titles }) => {
  const edges = { top: 44, bottom: 386 };
  const svg = openChart(place, place.id, "Parallel coordinates of the keys and the objective",
    "Each job is a line that crosses each key's axis at the job's value. The colour shows the objective; dashed lines "
    + "are failed jobs. The table of all jobs has the same numbers.", 960, 420);
  const values = Array.from({ length: count }, (_, i) => (sought && isOk(i) ? sought.number(i) : NaN));
  const [low, high] = rangeOfAll(values.filter(isFinite));
  const axes = titles.map(columnOf);
  const shares = axes.map(shareOfKey);
  const last = axes.length - (low <= high ? 0 : 1);
  const across = (at) => 60 + (last ? (820 * at) / last : 0);
  const up = (share) => edges.bottom - share * (edges.bottom - edges.top);
  const lines = draw(svg, "g", { class: `lines${count > 100 ? " many" : ""}` });
  for (const [i, standing] of parallelRows(values)) {
    const share = shareOf(low, high, values[i]);
    const places = axes.flatMap(({ codes }, at) => (codes[i] < 0 ? [] : [[across(at), up(shares[at](codes[i]))]]));
    if (isFinite(share)) places.push([across(axes.length), up(share)]);
    draw(lines, "path", isFinite(share)
      ? { class: `m o${standing}`, style: `color:${shade(data.maximise ? share : 1 - share)}` }
      : { class: `m f x-${failureColumn?.text(i)}` });
    lines.lastChild.setAttribute("data-j", jobAt(i));
    lines.lastChild.setAttribute("d", lineThrough(places));
  }
  const over = draw(svg, "g", { class: "axis over", "data-top": edges.top, "data-bottom": edges.bottom });
  axes.forEach((column, at) => drawKeyAxis(over, at, across(at), at ? across(at - 1) : 0, edges, column));
  if (low <= high) drawObjectiveAxis(over, axes.length, across(axes.length), edges, [low, high]);
  return svg;
};

// --- from a table: the effect of each key (effects.c), and heat maps (heat.c) ---
const tableRows = (figures) => [...figures.querySelector("table").tBodies[0].rows];
const EFFECTS_MOST = 80; // as in effects.c

const drawEffects = (place) => {
  const rows = tableRows(place.parentNode.querySelector("details.figures")).map((row) => {
    const [key, value, against, , median, low, high, words] = [...row.cells].map((cell) => cell.textContent.trim());
    const [quarter, threeQuarters] = row.dataset.quarters.split(" ").map(Number);
    const isWide = row.className !== "few" && Number(low) > 0 && isFinite(toNumber(high));
    const name = (text) => (columnOf(key) ? keyText(columnOf(key), text) : text);
    return {
      label: `${key}: ${name(value)} against ${name(against)}`, verdict: row.className, median: Number(median), words,
      middle: [quarter, threeQuarters], wide: isWide ? [Number(low), Number(high)] : null,
    };
  });
  const shown = rows.slice(0, EFFECTS_MOST);
  const [low, high] = rangeOfAll(rows.flatMap(({ middle, wide }) => [...middle, ...(wide || [])]));
  const edges = { left: 300, right: 770, top: 18, bottom: 26 + 22 * shown.length };
  const svg = openChart(place, place.id, "Effect of each key on the objective by matched pairs",
    "Per two values of a key: the median ratio of the objective over pairs of jobs equal in everything else, its 95 % "
    + "interval, and the conclusion.", 960, edges.bottom + 46);
  const frame = makeFrame(0, 0, makeScale(Math.min(low, 0.9), Math.max(high, 1.1), true), null, edges);
  const line = ([from, to], y) => `M${coordinate(frame.px(from))} ${y}H${coordinate(frame.px(to))}`;
  drawAxes(svg, frame, [`ratio of ${data.objective}`]);
  draw(svg, "path", { class: "even", d: `M${coordinate(frame.px(1))} 12V${edges.bottom}` });
  const axis = draw(svg, "g", { class: "axis" });
  shown.forEach(({ label, verdict, median, words, middle, wide }, at) => {
    const y = 26 + 22 * (at + 0.5);
    draw(axis, "text", { class: "name", x: edges.left - 10, y: y + 4, "text-anchor": "end" }, shortened(label, 42));
    const effect = draw(axis, "g", { class: `effect ${verdict}` });
    draw(effect, "path", { d: line(middle, y) });
    if (wide) draw(effect, "path", { class: "wide", d: line(wide, y) });
    draw(effect, "circle", { cx: coordinate(frame.px(median)), cy: y, r: 4.5 });
    draw(axis, "text", { x: edges.right + 14, y: y + 4 }, words);
  });
  return svg;
};

// Of "12.5; 2 oom", "2 oom" and "".
const readMapCell = (cell) => {
  const text = cell.textContent.trim();
  const [, failed, failure] = /(\d+) ([a-z-]+)$/.exec(text) || [];
  const best = cell.dataset.best;
  return {
    best, value: best ? Number(text.split(";")[0]) : NaN, failed, failure,
    isNone: !text && !cell.classList.contains("open"),
  };
};

const drawMapCell = (svg, [x, y, width, height], { best, value, failed, failure }, share) => {
  const isTall = height >= 36 && width >= 60;
  const place = { x: coordinate(x), y: coordinate(y), width: coordinate(width - 2), height: height - 2 };
  const middle = y + height / 2;
  const label = (name, up, text) =>
    draw(svg, "text", { class: name, x: coordinate(x + width / 2), y: up, "text-anchor": "middle" }, text);
  if (!best) {
    draw(svg, "rect", { class: `cell ${failed ? `x-${failure}` : "open"}`, ...place });
    if (failed) label("lost", middle + 4, `${failed} ${failure}`);
    return;
  }
  const tone = isLight(share) ? "dark" : "light";
  draw(svg, "rect", { class: "cell", fill: shade(share), "data-j": best, ...place });
  label(tone, middle + (failed && isTall ? -3 : 4),
    Math.abs(value) < 9999.5 ? String(Number(value.toPrecision(4))) : short(value));
  if (failed && isTall) label(`${tone} small`, middle + 13, `${failed} ${failure}`);
  else if (failed) draw(svg, "circle", { class: `x-${failure}`, cx: coordinate(x + width - 8), cy: y + 6, r: 3 });
};

const drawMap = (map) => {
  const [left, top] = [150, 10];
  const [x, y] = [columnOf(map.dataset.x), columnOf(map.dataset.y)];
  const place = map.querySelector("details");
  const cells = tableRows(place).map((row) => [...row.cells].slice(1).map(readMapCell));
  const [wide, tall] = [Math.min(110, 780 / x.levels.length), y.levels.length > 10 ? 26 : 44];
  const [width, height] = [wide * x.levels.length, tall * y.levels.length];
  const svg = openChart(place, `heat-${maps.indexOf(map)}`,
    place.querySelector("summary").textContent.replace(/, as a table$/, ""),
    "Each cell has the best objective of the jobs with these two values, and the number of failures of each class.",
    Math.max(left + width + 10, 500), top + height + 46);
  const [low, high] = rangeOfAll(cells.flat().map(({ value }) => value).filter(isFinite));
  cells.forEach((row, at) => row.forEach((cell, across) => {
    if (cell.isNone) return;
    const share = shareOf(low, high, cell.value);
    drawMapCell(svg, [left + wide * across, top + tall * at, wide, tall], cell, data.maximise ? share : 1 - share);
  }));
  const axis = draw(svg, "g", { class: "axis" });
  const label = (attributes, anchor, text) => draw(axis, "text", { ...attributes, "text-anchor": anchor }, text);
  x.levels.forEach((text, at) => label({ x: coordinate(left + wide * (at + 0.5)), y: top + height + 16 }, "middle",
    shortened(keyText(x, text), wide < 60 ? 6 : 14)));
  y.levels.forEach((text, at) => label({ x: left - 8, y: top + tall * (at + 0.5) + 4 }, "end",
    shortened(keyText(y, text), 14)));
  label({ class: "name", x: coordinate(left + width / 2), y: top + height + 36 }, "middle", x.name);
  label({ class: "name", transform: `translate(14 ${top + height / 2}) rotate(-90)` }, "middle", shortened(y.name, 40));
  watchChart(svg);
};

const charts = {
  front: drawFront, predicted: drawPredicted, learning: drawLearning, timeline: drawTimeline, parallel: drawParallel,
  effects: drawEffects,
};

const drawCharts = () => {
  for (const place of document.querySelectorAll("script.chart")) {
    watchChart(charts[/^[a-z]+/.exec(place.id)[0]](place, JSON.parse(place.textContent)));
  }
};
