// --- curves: samples over steps, of the pinned jobs or the best ones that pass the filter (data: curves.c) ---
const curves = JSON.parse($("curve-data")?.textContent || "{}");
const curveNames = [...new Set(Object.values(curves).flatMap(Object.keys))];
const CURVES_SHOWN = 8;
// Jobs that cannot win (html_job.barred); they are listed last.
const curvesBarred = new Set(JSON.parse($("curve-barred")?.textContent || "[]"));

// What the places of a metric's curve are: the number that the sweep file names with `per`, or steps.
const curvePer = JSON.parse($("curve-per")?.textContent || "{}");
const curvePlace = (metric) => curvePer[metric] || "step";

const curveMetric = () => {
  const wanted = state.plot.curve;
  if (curveNames.includes(wanted)) return wanted;
  return curveNames.includes("loss") ? "loss" : curveNames.includes(data.objective) ? data.objective : curveNames[0];
};

const curveJobs = (metric) => {
  const has = (id) => curves[id]?.[metric];
  const asked = chosenJobs();
  if (asked.length) return asked.filter(has).slice(0, PALETTE);
  const order = orderBy(sought || jobColumn, bestFirst(sought));
  const jobs = order.filter((i) => passing[i] && has(jobAt(i))).map(jobAt);
  return [...jobs.filter((id) => !curvesBarred.has(id)), ...jobs.filter((id) => curvesBarred.has(id))]
    .slice(0, CURVES_SHOWN);
};

// Colour alone does not tell curves apart, least of all two that are the same: the dashes of the later one lie upon the
// first, which shows between them.
const DASHES = ["", "9 5", "3 4", "14 4 3 4", "6 3", "2 7", "12 8", "4 3 1 3"];

const xOf = (series, at) => (series.x ? series.x[at] : series.from + at * series.by);

const curveRange = (list, log) => {
  const ends = { x: [Infinity, -Infinity], y: [Infinity, -Infinity] };
  const widen = (end, v) => {
    end[0] = Math.min(end[0], v);
    end[1] = Math.max(end[1], v);
  };
  for (const s of list) {
    s.low.forEach((low, at) => {
      widen(ends.x, xOf(s, at));
      for (const v of [low, s.high ? s.high[at] : low]) if (v !== null && (!log || v > 0)) widen(ends.y, v);
    });
  }
  return ends;
};

// Samples that are not finite leave a gap.
const drawCurve = (svg, frame, series, place, log) => {
  let open = false;
  let d = "";
  const shows = (v) => v !== null && v !== undefined && (!log || v > 0);
  series.low.forEach((low, at) => {
    if (!shows(low)) {
      // An empty bucket is not a gap: samples may lie farther apart than buckets.
      open = open && series.high !== undefined;
      return;
    }
    const px = coordinate(frame.px(xOf(series, at)));
    d += `${open ? "L" : "M"}${px} ${coordinate(frame.py(low))}`;
    if (series.high && shows(series.high[at])) d += `V${coordinate(frame.py(series.high[at]))}`;
    else if (!open) d += "h.1";
    open = true;
  });
  draw(svg, "path", { class: "curve", d, style: `color:${ink("--c" + place)}`, "stroke-dasharray": DASHES[place] });
};

const drawWarmup = (svg, frame, list) => {
  const warm = Math.max(...list.map((s) => s.warm ?? -Infinity));
  if (!isFinite(warm)) return;
  const { left, top, right, bottom } = frame;
  const width = Math.min(frame.px(warm), right) - left;
  draw(svg, "rect", { class: "warm", x: left, y: top, width: coordinate(Math.max(width, 0)), height: bottom - top });
  if (width > 60) draw(svg, "text", { x: left + 6, y: bottom - 6 }, "warm-up");
};

const curveLegend = (jobs, metric) => jobs.map((id, at) => ({
  colour: ink("--c" + at),
  dashes: DASHES[at],
  label: `job ${id} (${curves[id][metric].samples})`,
  click: () => visit(id),
}));

const curveUnit = (metric) => (columnOf(metric) || columnOf("metric." + metric))?.unit || "";

const drawCurvesOf = (jobs, place, legend) => {
  const metric = curveMetric();
  const log = Boolean(state.plot.logcurve);
  const list = jobs.map((id) => curves[id][metric]);
  const ends = curveRange(list, log);
  place.replaceChildren();
  drawLegend(legend, curveLegend(jobs, metric));
  if (!(ends.y[0] <= ends.y[1])) return;
  const width = place.clientWidth;
  const height = Math.min(360, Math.max(240, width * 0.45));
  const svg = draw(place, "svg", {
    viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label":
      `${metric} over ${curvePer[metric] || "steps"} of jobs ${jobs.join(", ")}; the table has its figures.`,
  });
  const unit = curveUnit(metric);
  const frame = makeFrame(width, height, makeScale(...ends.x, false), makeScale(...ends.y, log, unit));
  drawWarmup(svg, frame, list);
  drawAxes(svg, frame, [curvePlace(metric), metric + unitOf({ unit })]);
  list.forEach((series, at) => drawCurve(svg, frame, series, at, log));
};

const curveFigures = (jobs, metric) => {
  const steps = new Map();
  jobs.forEach((id, at) => {
    const series = curves[id][metric];
    series.low.forEach((low, k) => {
      const x = Number(xOf(series, k).toPrecision(7));
      const high = series.high ? series.high[k] : low;
      if (!steps.has(x)) steps.set(x, jobs.map(() => ""));
      if (low !== null) steps.get(x)[at] = high === low ? String(low) : `${low} to ${high}`;
    });
  });
  const rows = [...steps].sort(([a], [b]) => a - b).map(([x, values]) => [x, ...values]);
  return {
    head: [curvePlace(metric), ...jobs.map((id) => `job ${id}`)],
    rows: rows.slice(0, FIGURES_MOST),
    all: rows.length,
    others: "steps, the first.",
  };
};

const drawCurves = () => {
  if (!curveNames.length) return;
  const metric = curveMetric();
  const jobs = curveJobs(metric);
  const asked = chosenJobs().length > 0;
  const none = `No ${asked ? "chosen" : "passing"} job has samples of ${metric} in this page.`;
  $("curve-jobs").textContent = !jobs.length ? none : asked ? "chosen jobs" : `the best ${jobs.length} that pass`;
  drawCurvesOf(jobs, $("curve-plot"), $("curve-legend"));
  showFigures($("curve-figures"), `${metric} over ${curvePer[metric] || "steps"}`, () => curveFigures(jobs, metric));
};

const prepareCurves = () => {
  if (!curveNames.length || !$("curve-form")) return;
  $("curve-form").hidden = false;
  $("curve-metric").replaceChildren(...curveNames.map((name) => new Option(name, name)));
  $("curve-form").addEventListener("submit", (event) => event.preventDefault());
  $("curve-form").addEventListener("change", () => {
    state.plot.curve = $("curve-metric").value;
    state.plot.logcurve = $("curve-log").checked;
    changed("plot");
    remember();
  });
  on("plot", () => {
    $("curve-metric").value = curveMetric();
    $("curve-log").checked = Boolean(state.plot.logcurve);
  });
  on("job", drawSoon);
};
