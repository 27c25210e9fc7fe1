// --- the plot of any column against any other: colours, facets, limits, matched pairs, and brushing as a filter ---
const LEVELS_PLACED = 24; // a numeric key with more values gets a continuous axis
const FACETS_MOST = 16;
const NARROWEST = 120;
const JOINED_MOST = 1000;

const isPlaced = (c) => c.levels && (!c.numeric || c.levels.length <= LEVELS_PLACED);
const hasTwo = (c) => (c.levels ? c.levels.length > 1 : true);
const axes = columns.filter((c) => hasTwo(c) && c !== columnOf("error"));
const facetKeys = columns.filter((c) => c.levels && c.levels.length > 1 && c.levels.length <= FACETS_MOST);

// The defaults.
const usual = {
  x: () => columnOf(data.memory) || keys.find(hasTwo) || jobColumn,
  y: () => sought || columns.find((c) => c.role === "metric") || columnOf("duration_ms") || jobColumn,
  colour: () => stateColumn,
};
const chosenColumn = (name) => columnOf(state.plot[name]) || (usual[name] && usual[name]());

// Spreads the points of one value, each row always to the same place.
const jitter = (i) => (((i * 2654435761) >>> 0) / 2 ** 32 - 0.5) * 0.5;

const rangeOf = (column, log) => {
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < count; i++) {
    const v = column.number(i);
    if (!passing[i] || !isFinite(v) || (log && v <= 0)) continue;
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return [low, high];
};

// "12.5,40": the part of an axis that is shown.
const zoomOf = (name) => {
  const ends = (state.plot["zoom" + name] || "").split(",").map(toNumber);
  return ends.length === 2 && ends[0] < ends[1] ? ends : null;
};

const axisOf = (column, log, zoom) => {
  if (zoom && !isPlaced(column)) {
    const isIn = (v) => v >= zoom[0] && v <= zoom[1] && (!log || v > 0);
    const of = (i) => (isIn(column.number(i)) ? column.number(i) : NaN);
    return { column, scale: makeScale(...zoom, log && zoom[0] > 0, column.unit), of, isPart: true };
  }
  if (isPlaced(column)) {
    const of = (i) => (column.codes[i] < 0 ? NaN : column.codes[i] + jitter(i));
    return { column, scale: levelScale(column.levels, (text) => keyText(column, text)), of };
  }
  const [low, high] = rangeOf(column, log);
  if (!(low <= high)) return null;
  const of = log ? (i) => (column.number(i) > 0 ? column.number(i) : NaN) : column.number;
  return { column, scale: makeScale(low, high, log, column.unit), of };
};

// Each colouring maps a row to an index into `inks`.
const SHADES = 48;

// A page that is served may have been made before any job failed: then it has no column of failures.
const byState = () => {
  const failures = failureColumn?.levels ?? [];
  const names = stateColumn.levels.flatMap((s) => (s === "failed" && failures.length ? failures : [s]));
  const ofState = stateColumn.levels.map((s) => names.indexOf(s === "failed" ? failures[0] ?? s : s));
  const ofFailure = failures.map((s) => names.indexOf(s));
  const inks = names.map((n) => ink("x-" + n));
  return {
    inks,
    code: (i) => (hasFailed(i) ? ofFailure[failureColumn?.codes[i]] : undefined) ?? ofState[stateColumn.codes[i]],
    legend: names.map((n, at) => (
      { at, colour: inks[at], label: n, click: () => restrict([stateCondition(n)]) })),
  };
};

const byPalette = (column) => {
  const inks = [...column.levels.slice(0, PALETTE).map((_, at) => ink("--c" + at)), ink("--dim")];
  const legend = column.levels.slice(0, PALETTE).map((text, at) => ({
    at, colour: inks[at], label: keyText(column, text) || "(empty)",
    click: () => restrict([{ column, values: [text] }]),
  }));
  const rest = inks.length - 1;
  if (column.levels.length > PALETTE) {
    legend.push({ at: rest, colour: inks[rest], label: `${column.levels.length - PALETTE} others` });
  }
  return { inks, legend, code: (i) => (column.codes[i] < 0 ? rest : Math.min(column.codes[i], rest)) };
};

const byScale = (column) => {
  const [low, high] = rangeOf(column, false);
  const inks = [...Array(SHADES).keys()].map((at) => shade(at / (SHADES - 1)));
  const code = (i) => {
    const v = column.number(i);
    if (!isFinite(v)) return SHADES;
    return high > low ? Math.round(((v - low) / (high - low)) * (SHADES - 1)) : SHADES >> 1;
  };
  const marks = low <= high ? [0, 0.25, 0.5, 0.75, 1] : [];
  const legend = marks.map((s) => ({ colour: shade(s), label: short(low + s * (high - low), column.unit) }));
  return { inks: [...inks, ink("--dim")], code, legend };
};

const colouring = (column) => {
  if (column === stateColumn) return byState();
  return column.levels && (!column.numeric || column.levels.length <= PALETTE) ? byPalette(column) : byScale(column);
};

const stateCondition = (name) =>
  ({ column: stateColumn.levels.includes(name) ? stateColumn : failureColumn, values: [name] });

// --- limits: the conditions of [sweep] subject_to, and device memory ---
const SIZES = {
  b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3, tib: 1024 ** 4,
};

const inUnitOf = (column, value, unit) => {
  const from = SIZES[unit.toLowerCase()];
  const to = SIZES[ownUnit(column.unit).toLowerCase()];
  return from && to ? (value * from) / to : unit && !from ? NaN : value;
};

const conditionLines = data.conditions.flatMap((text) => {
  const parts = /^\s*([\w.]+)\s*[<>]=?\s*([\d.eE+-]+)\s*([A-Za-z]*)\s*$/.exec(text);
  const column = parts && columnOf(parts[1]);
  const value = column ? inUnitOf(column, Number(parts[2]), parts[3]) : NaN;
  return isFinite(value) ? [{ column, value, text }] : [];
});

const isMemory = (c) => /memory|rss/.test(c.key) && SIZES[ownUnit(c.unit).toLowerCase()];

const capacityLines = () => {
  const key = keys.find((c) => /(^|\.)device_memory$/.test(c.key));
  const bytes = key ? key.levels.map(toNumber) : [toNumber(data.constants.device_memory ?? "")];
  return columns.filter(isMemory).filter((c) => c.name !== "max_rss").flatMap((column) =>
    bytes.filter(isFinite).slice(0, 4).map((b) => ({
      column, value: inUnitOf(column, b, "B"), text: `device memory ${short(b, "B")}`,
    })));
};
const limitLines = [...conditionLines, ...capacityLines()];

const drawLimits = (svg, frame, x, y) => {
  const limits = draw(svg, "g", { class: "limits" });
  for (const { column, value, text } of limitLines) {
    const [px, py] = [frame.px(value), frame.py(value)];
    if (column === x.column && px >= frame.left && px <= frame.right) {
      const isRight = px > (frame.left + frame.right) / 2;
      draw(limits, "path", { d: `M${coordinate(px)} ${frame.top}V${frame.bottom}` });
      draw(limits, "text", {
        x: coordinate(px + (isRight ? -5 : 5)), y: frame.top + 24, "text-anchor": isRight ? "end" : "start",
      }, text);
    } else if (column === y.column && py >= frame.top && py <= frame.bottom) {
      draw(limits, "path", { d: `M${frame.left} ${coordinate(py)}H${frame.right}` });
      draw(limits, "text", { x: frame.right - 4, y: coordinate(py - 5), "text-anchor": "end" }, text);
    }
  }
};

// --- lines that join jobs which differ in only one key ---
// Replaces IDs by consecutive numbers, equal for equal IDs.
const renumbered = (ids) => {
  const known = new Map();
  for (let i = 0; i < count; i++) {
    if (!known.has(ids[i])) known.set(ids[i], known.size);
    ids[i] = known.get(ids[i]);
  }
  return known.size;
};

const setOf = (others) => {
  const ids = new Float64Array(count);
  let size = 1;
  for (const { codes, levels } of others) {
    const most = levels.length + 1;
    if (size * most > Number.MAX_SAFE_INTEGER) size = renumbered(ids);
    for (let i = 0; i < count; i++) ids[i] = ids[i] * most + codes[i] + 1;
    size *= most;
  }
  return { ids, size: renumbered(ids) };
};

// The number of sets, and the ones with the best jobs: more than JOINED_MOST lines would hide each other.
const joinedBy = (key) => {
  const others = keys.filter((c) => c !== key && !c.derived && c.twin !== key.name && key.twin !== c.name);
  const { ids, size } = setOf(others);
  const sizes = new Int32Array(size);
  for (let i = 0; i < count; i++) if (passing[i] && key.codes[i] >= 0) sizes[ids[i]]++;
  const sets = new Map();
  for (const i of orderBy(sought || jobColumn, bestFirst(sought))) {
    if (!passing[i] || key.codes[i] < 0 || sizes[ids[i]] < 2) continue;
    if (!sets.has(ids[i]) && sets.size < JOINED_MOST) sets.set(ids[i], []);
    sets.get(ids[i])?.push(i);
  }
  const drawn = [...sets.values()].map((set) => set.sort((a, b) => key.codes[a] - key.codes[b]));
  return { drawn, all: sizes.filter((n) => n > 1).length };
};

const drawJoined = (svg, frame, x, y, sets, facet, level) => {
  const isShown = (i) => (!facet || facet.codes[i] === level) && isFinite(x.of(i)) && isFinite(y.of(i));
  const lines = sets.map((set) => lineThrough(set.filter(isShown).map((i) => [frame.px(x.of(i)), frame.py(y.of(i))])));
  draw(svg, "path", { class: "joined", d: lines.join("") });
};

// --- points; of several with one colour at one pixel only one is drawn ---
const DENSE = 5000; // above this many, points are small squares on a canvas behind the plot

// Failed jobs without a value lie at the bottom, unless that is a part of the axis.
const isDrawn = (i, x, y) => isFinite(x.of(i)) && (isFinite(y.of(i)) || (hasFailed(i) && !y.isPart));

const placePoints = (frame, x, y, keep) => {
  const points = { row: new Int32Array(passingCount) };
  points.px = new Float32Array(passingCount);
  points.py = new Float32Array(passingCount);
  let n = 0;
  for (let i = 0; i < count; i++) {
    if (!passing[i] || !keep(i)) continue;
    const vx = x.of(i);
    const vy = y.of(i);
    if (!isDrawn(i, x, y)) continue;
    points.row[n] = i;
    points.px[n] = frame.px(vx);
    points.py[n++] = isFinite(vy) ? frame.py(vy) : frame.bottom - 5;
  }
  for (const name of ["row", "px", "py"]) points[name] = points[name].subarray(0, n);
  return points;
};

// A path for each colour: of dots, and of crosses.
const drawSparse = (svg, frame, points, failed, colours) => {
  const width = Math.ceil(frame.right) + 2;
  const taken = new Uint8Array(width * (Math.ceil(frame.bottom) + 2));
  const paths = colours.inks.map(() => [[], []]);
  for (let at = 0; at < points.row.length; at++) {
    const i = points.row[at];
    const code = colours.code(i);
    const [px, py] = [points.px[at], points.py[at]];
    const spot = Math.round(py) * width + Math.round(px);
    if (taken[spot] === code + 1) continue;
    taken[spot] = code + 1;
    paths[code][failed(i) ? 1 : 0].push(failed(i) ? crossAt(px, py) : `M${coordinate(px)} ${coordinate(py)}h0`);
  }
  paths.forEach((both, code) => both.forEach((parts, isCross) => {
    const d = parts.join("");
    if (d) draw(svg, "path", { class: isCross ? "crosses" : "dots", d, style: `color:${colours.inks[code]}` });
  }));
};

// "rgb(26, 127, 90)" as a pixel of ImageData.
const pixelOf = (colour) => new Uint32Array(Uint8Array.of(...colour.match(/\d+/g).slice(0, 3), 255).buffer)[0];

// Many points are written as pixels, because drawing each takes longer than everything else together.
const drawDense = (canvas, points, failed, colours) => {
  const { width, height } = canvas;
  const fine = window.devicePixelRatio || 1;
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const inks = colours.inks.map(pixelOf);
  const reach = [...Array(2 * Math.round(1.5 * fine) + 1).keys()].map((at) => at - Math.round(1.5 * fine));
  const inner = reach.slice(1, -1);
  const dot = inner.flatMap((y) => inner.map((x) => y * width + x));
  const cross = reach.flatMap((at) => [at * width + at, at * width - at]);
  for (let at = 0; at < points.row.length; at++) {
    const i = points.row[at];
    const spot = Math.round(points.py[at] * fine) * width + Math.round(points.px[at] * fine);
    const pixel = inks[colours.code(i)];
    for (const place of failed(i) ? cross : dot) pixels[spot + place] = pixel;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
};

const drawPoints = (plot, colours) => {
  const failed = (i) => hasFailed(i) || !isFinite(plot.y.of(i));
  if (passingCount <= DENSE) {
    drawSparse(plot.svg, plot.frame, plot.points, failed, colours);
    return;
  }
  const fine = window.devicePixelRatio || 1;
  const canvas = element("canvas", { width: Math.round(plot.width * fine), height: Math.round(plot.height * fine) });
  plot.svg.before(canvas);
  drawDense(canvas, plot.points, failed, colours);
};

const drawRings = (svg, points) => {
  const wanted = new Set([winner, ...state.pins.map((id) => rowOf.get(id))]);
  for (let at = 0; at < points.row.length; at++) {
    if (!wanted.has(points.row[at])) continue;
    draw(svg, "circle", { class: "picked", cx: coordinate(points.px[at]), cy: coordinate(points.py[at]), r: 7 });
  }
};

const nearest = (points, px, py, reach) => {
  let best = -1;
  let least = reach * reach;
  for (let at = 0; at < points.row.length; at++) {
    const d = (points.px[at] - px) ** 2 + (points.py[at] - py) ** 2;
    if (d < least) [least, best] = [d, at];
  }
  return best;
};

// --- pointer and keyboard on one plot ---
// The place of an event in the plot's own units.
const eventPlace = ({ svg, width }, event) => {
  const box = svg.getBoundingClientRect();
  return [event.clientX - box.x, event.clientY - box.y].map((v) => (v * width) / box.width);
};

const levelsBetween = (column, a, b) => {
  const [low, high] = [Math.ceil(Math.min(a, b)), Math.floor(Math.max(a, b))];
  return column.levels.slice(Math.max(low, 0), Math.max(high + 1, 0));
};

const brushed = (axis, a, b) => {
  if (!isPlaced(axis.column)) return { column: axis.column, from: Math.min(a, b), to: Math.max(a, b) };
  return { column: axis.column, values: levelsBetween(axis.column, a, b) };
};

// What is shown changes, what passes the filter does not.
const zoomTo = ({ frame, x, y }, from, to) => {
  const ends = (a, b) => [Math.min(a, b), Math.max(a, b)].map(rounded).join();
  if (!isPlaced(x.column)) state.plot.zoomx = ends(frame.vx(from[0]), frame.vx(to[0]));
  if (!isPlaced(y.column)) state.plot.zoomy = ends(frame.vy(from[1]), frame.vy(to[1]));
  step();
  changed("plot");
  remember();
};

const watchPointer = (plot) => {
  const { svg } = plot;
  const box = element("div", { className: "brush", hidden: true });
  let start = null;
  svg.parentNode.append(box);
  svg.addEventListener("pointerdown", (event) => {
    start = eventPlace(plot, event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    const [x, y] = eventPlace(plot, event);
    if (start) {
      box.hidden = Math.hypot(x - start[0], y - start[1]) < 6;
      box.style.cssText = `left:${Math.min(x, start[0])}px;top:${Math.min(y, start[1])}px;` +
        `width:${Math.abs(x - start[0])}px;height:${Math.abs(y - start[1])}px`;
    } else {
      point(plot, nearest(plot.points, x, y, 14), event.clientX, event.clientY);
    }
  });
  svg.addEventListener("pointerup", (event) => {
    const from = start;
    const to = eventPlace(plot, event);
    start = null;
    if (!from) return;
    if (box.hidden) {
      const at = nearest(plot.points, ...to, 14);
      if (at >= 0) visit(jobAt(plot.points.row[at]));
      return;
    }
    box.hidden = true;
    const { frame, x, y } = plot;
    if (event.shiftKey || $("plot-zoom").checked) {
      zoomTo(plot, from, to);
      return;
    }
    const conditions = [brushed(x, frame.vx(from[0]), frame.vx(to[0]))];
    if (y.column !== x.column) conditions.push(brushed(y, frame.vy(from[1]), frame.vy(to[1])));
    step();
    restrict(conditions.filter((c) => !c.values || c.values.length));
  });
  svg.addEventListener("pointercancel", () => {
    start = null;
    box.hidden = true;
  });
  svg.addEventListener("pointerleave", () => point(plot, -1));
};

const point = (plot, at, clientX, clientY) => {
  plot.at = at;
  plot.ring.hidden = at < 0;
  if (at < 0) {
    hideTip();
    return;
  }
  plot.ring.style.left = plot.points.px[at] - 8 + "px";
  plot.ring.style.top = plot.points.py[at] - 8 + "px";
  const box = plot.svg.getBoundingClientRect();
  tell(jobAt(plot.points.row[at]), clientX ?? box.x + plot.points.px[at], clientY ?? box.y + plot.points.py[at]);
};

// Arrow keys go from point to point, Enter opens the job, p pins it.
const watchKeys = (plot) => {
  plot.svg.addEventListener("keydown", (event) => {
    const { points } = plot;
    const byPlace = (a, b) => points.px[a] - points.px[b] || points.py[a] - points.py[b];
    const order = (plot.order ||= Array.from(points.row.keys()).sort(byPlace));
    const here = order.indexOf(plot.at);
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, PageDown: 25, PageUp: -25 };
    const ends = { Home: 0, End: order.length - 1 };
    if (event.key in steps || event.key in ends) {
      const to = event.key in ends ? ends[event.key] : here < 0 ? 0 : here + steps[event.key];
      point(plot, order[Math.min(Math.max(to, 0), order.length - 1)] ?? -1);
    } else if (event.key === "Enter" && plot.at >= 0) {
      visit(jobAt(points.row[plot.at]));
    } else if (event.key === "p" && plot.at >= 0) {
      togglePin(jobAt(points.row[plot.at]));
    } else {
      return;
    }
    event.preventDefault();
  });
};

// --- the section ---
const addFacet = (place, title, width, height) => {
  const ring = element("div", { className: "ring", hidden: true });
  const holder = element("div", { className: "holder" }, ring);
  const figure = element("figure", { className: "facet" }, holder);
  const svg = draw(holder, "svg", {
    viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "application",
    "aria-label": `${title}. Arrow keys go from job to job, Enter opens one, p pins it.`,
  });
  figure.style.width = width + "px";
  place.append(figure);
  return { svg, ring, at: -1, figure, width, height };
};

// Only facets with a job that passes the filter.
const facetsOf = (facet) => {
  if (!facet) return [{}];
  const used = new Set(facet.codes.filter((_, i) => passing[i]));
  const all = facet.levels.map((text, level) => ({ text: `${facet.name} = ${keyText(facet, text)}`, level }));
  return all.filter((f) => used.has(f.level));
};

const shownColumn = (name, among) => (among.includes(columnOf(state.plot[name])) ? columnOf(state.plot[name]) : null);

const noteOf = (drawn, x, y, join, joined) => {
  const rest = passingCount - drawn;
  const beyond = x.isPart || y.isPart ? " beyond what is shown or" : "";
  const missing = rest ? `; ${rest}${beyond} without a finite ${x.column.name} or ${y.column.name} are not in it` : "";
  const best = joined.all > joined.drawn.length ? `, the ${joined.drawn.length} with the best jobs drawn` : "";
  const crosses = [...passing.keys()].some((i) => passing[i] && hasFailed(i) && isDrawn(i, x, y))
    ? " Crosses are failed jobs, at the bottom if they have no value." : "";
  const sets = join ? ` Lines join jobs that differ in ${join.name} alone: ${joined.all} sets${best}.` : "";
  return `${drawn} jobs${missing}.${crosses}${sets}`;
};

const drawFacet = (plot, { text, level }, { facet, colours, joined, titles }) => {
  const { svg, frame, x, y } = plot;
  drawAxes(svg, frame, titles);
  drawJoined(svg, frame, x, y, joined.drawn, facet, level);
  const keep = facet ? (i) => facet.codes[i] === level : () => true;
  plot.points = placePoints(frame, x, y, keep);
  drawPoints(plot, colours);
  drawLimits(svg, frame, x, y);
  drawRings(svg, plot.points);
  if (text) plot.figure.prepend(element("figcaption", {}, text));
  watchPointer(plot);
  watchKeys(plot);
};

// Best first, like the table of jobs.
const figuresOf = (x, y, colour) => {
  const shown = [...new Set([jobColumn, x.column, y.column, colour])];
  const drawn = orderBy(sought || jobColumn, bestFirst(sought)).filter((i) => passing[i] && isDrawn(i, x, y));
  return {
    head: shown.map((c) => c.name + unitOf(c)),
    rows: Array.from(drawn.subarray(0, FIGURES_MOST), (i) => shown.map((c) => c.text(i))),
    all: drawn.length,
    others: "jobs, the best.",
  };
};

const drawExplore = () => {
  const place = $("plots");
  const x = axisOf(chosenColumn("x"), state.plot.logx, zoomOf("x"));
  const y = axisOf(chosenColumn("y"), state.plot.logy, zoomOf("y"));
  const facet = shownColumn("facet", facetKeys);
  const join = shownColumn("join", keys);
  place.replaceChildren();
  hideTip();
  if (!x || !y) {
    const missing = chosenColumn(x ? "y" : "x").name;
    $("plot-note").textContent = `No job that passes the filter has a finite ${missing}.`;
    $("plot-legend").replaceChildren();
    $("plot-figures").hidden = true;
    return;
  }
  if (place.clientWidth < NARROWEST) return; // no layout yet, for example in a background tab
  const across = facet ? Math.max(1, Math.min(3, Math.floor(place.clientWidth / 300))) : 1;
  const width = Math.floor((place.clientWidth - (across - 1) * 12) / across);
  const height = facet ? 260 : Math.min(440, Math.max(300, width * 0.6));
  const look = {
    facet,
    colours: colouring(chosenColumn("colour")),
    joined: join ? joinedBy(join) : { drawn: [], all: 0 },
    titles: [x, y].map(({ column, scale }) => column.name + unitOf(scale.unit === undefined ? column : scale)),
  };
  const inUse = new Set();
  let drawn = 0;
  for (const one of facetsOf(facet)) {
    const title = `${look.titles[1]} against ${look.titles[0]}${one.text ? ", " + one.text : ""}`;
    const plot = addFacet(place, title, width, height);
    Object.assign(plot, { x, y, frame: makeFrame(width, height, x.scale, y.scale) });
    drawFacet(plot, one, look);
    drawn += plot.points.row.length;
    for (const i of plot.points.row) inUse.add(look.colours.code(i));
  }
  drawLegend($("plot-legend"), look.colours.legend.filter(({ at }) => at === undefined || inUse.has(at)));
  $("plot-note").textContent = noteOf(drawn, x, y, join, look.joined);
  showFigures($("plot-figures"), `${look.titles[1]} against ${look.titles[0]}`,
    () => figuresOf(x, y, chosenColumn("colour")));
};

// The column that is shown is listed even if it is the same for all jobs.
const fillSelect = (select, among, first, chosen) => {
  const list = chosen && !among.includes(chosen) ? [...among, chosen] : among;
  select.replaceChildren(...(first ? [new Option(first, "")] : []), ...list.map((c) => new Option(c.name, c.name)));
  select.value = chosen ? chosen.name : "";
};

const showChoices = () => {
  fillSelect($("plot-x"), axes, "", chosenColumn("x"));
  fillSelect($("plot-y"), axes, "", chosenColumn("y"));
  fillSelect($("plot-colour"), axes, "", chosenColumn("colour"));
  fillSelect($("plot-facet"), facetKeys, "none", columnOf(state.plot.facet));
  fillSelect($("plot-join"), keys.filter(hasTwo), "none", columnOf(state.plot.join));
  for (const name of ["x", "y"]) {
    $("plot-log" + name).checked = Boolean(state.plot["log" + name]);
    $("plot-log" + name).disabled = isPlaced(chosenColumn(name));
  }
  $("plot-out").hidden = !state.plot.zoomx && !state.plot.zoomy;
};

const prepareExplore = () => {
  const form = $("plot-form");
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => {
    for (const name of ["x", "y", "colour", "facet", "join"]) {
      const value = $("plot-" + name).value;
      const isUsual = usual[name] && usual[name]().name === value;
      const wanted = value && !isUsual ? value : undefined;
      if (name.length === 1 && wanted !== state.plot[name]) state.plot["zoom" + name] = undefined;
      state.plot[name] = wanted;
    }
    state.plot.logx = $("plot-logx").checked;
    state.plot.logy = $("plot-logy").checked;
    changed("plot");
    remember();
  });
  $("plot-out").addEventListener("click", () => {
    state.plot.zoomx = state.plot.zoomy = undefined;
    changed("plot");
    remember();
  });
  for (const what of ["filter", "plot", "pins", "rows"]) on(what, drawSoon);
  on("plot", showChoices);
};

const drawNow = () => {
  drawExplore();
  drawCurves();
};

// At most once per frame.
let waiting = 0;
const drawSoon = () => {
  waiting ||= requestAnimationFrame(() => {
    waiting = 0;
    drawNow();
  });
};
