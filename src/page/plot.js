// --- scales, ticks and colours of the plots, which are SVG; only very many points lie on a canvas ---
const PALETTE = 8;
const inks = new Map();

// A colour of the style sheet in the current theme.
const ink = (name) => {
  if (!inks.has(name)) {
    const probe = $("probe");
    probe.className = name.startsWith("--") ? "" : name;
    probe.style.color = name.startsWith("--") ? `var(${name})` : "";
    inks.set(name, getComputedStyle(probe).color);
  }
  return inks.get(name);
};

// Nine points of viridis (van der Walt and Smith, 2015; CC0): perceptually uniform, and safe for colour blindness.
const SCALE = [[68, 1, 84], [71, 45, 123], [59, 82, 139], [44, 114, 142], [33, 145, 140], [40, 174, 128], [94, 201, 98],
  [173, 220, 48], [253, 231, 37]];

const rgbAt = (share) => {
  const at = Math.min(Math.max(share, 0), 1) * (SCALE.length - 1);
  const low = Math.min(Math.floor(at), SCALE.length - 2);
  return SCALE[low].map((c, k) => Math.round(c + (SCALE[low + 1][k] - c) * (at - low)));
};

const shade = (share) => `rgb(${rgbAt(share).join()})`;

// At a relative luminance of 0.179, black and white text have the same contrast, 4.6 (WCAG 2.2).
const isLight = (share) => {
  const [r, g, b] = rgbAt(share).map((c) => ((c / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179;
};

// Place of a value between two others, 0…1; 0.5 if these are equal.
const shareOf = (low, high, v) => {
  if (!isFinite(high - low)) return (v / 2 - low / 2) / (high / 2 - low / 2);
  return high > low ? (v - low) / (high - low) : 0.5;
};

const shortened = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

const niceStep = (span, most) => {
  const raw = span / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * [1, 2, 5, 10].find((m) => m * power >= raw * 0.999);
};

const linearTicks = (low, high, most) => {
  const by = niceStep(high - low, most);
  const ticks = [];
  for (let at = Math.ceil(low / by); at * by <= high + by * 1e-9 && ticks.length < 20; at++) ticks.push(at * by);
  return ticks;
};

const logTicks = (from, to) => {
  const ticks = [];
  const [low, high] = [Math.max(from, Number.MIN_VALUE), Math.min(to, Number.MAX_VALUE)];
  const fine = Math.log10(high / low) < 2.5 ? [1, 2, 5] : [1];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const m of fine) if (m * 10 ** power >= low && m * 10 ** power <= high) ticks.push(m * 10 ** power);
  }
  if (high / low < 5 || ticks.length < 2) return linearTicks(low, high, 5).filter((t) => t > 0);
  return ticks.filter((_, at) => at % Math.ceil(ticks.length / 10) === 0);
};

// The largest binary prefix that fits.
const binaryUnit = (low, high) =>
  1024 ** Math.max(0, Math.floor(Math.log2(Math.max(Math.abs(low), Math.abs(high))) / 10));

// A range around a single value.
const widened = (value, log) => {
  const room = (Math.abs(value) > 1e-300 ? Math.abs(value) : 1) / 20;
  return log ? [value / 1.1, value * 1.1] : [value - room, value + room];
};

// Milliseconds are shown in the largest unit of which there are two.
const DURATIONS = [[3600000, "h"], [60000, "min"], [1000, "s"]];

const readable = (unit, high) => {
  const [by, name] = (ownUnit(unit) === "ms" && DURATIONS.find(([least]) => high >= 2 * least)) || [1, ""];
  return { by, unit: name ? name + unit.slice(2) : unit };
};

// Maps values to 0…1. `log` needs positive values; with `fromZero` it begins at 0 unless a value is below.
const makeScale = (low, high, log, ofValues = "", fromZero = false) => {
  const { by, unit } = readable(ofValues, high);
  const isFromZero = fromZero && low >= 0;
  if (!(high > low)) [low, high] = widened(low, log);
  // The difference of two numbers may be no number.
  const shrink = isFinite(high - low) ? 1 : 4;
  const forth = log ? Math.log : (v) => v / shrink;
  const back = log ? Math.exp : (v) => v * shrink;
  if (isFromZero) low = 0;
  const pad = (forth(high) - forth(low)) * 0.03 || 1;
  const [from, to] = [isFromZero ? 0 : forth(low) - pad, forth(high) + pad];
  const ends = [back(from), back(to)];
  const ofTicks = isBytes(unit) ? binaryUnit(...ends) : by;
  return {
    unit,
    at: (v) => (forth(v) - from) / (to - from),
    value: (share) => back(from + share * (to - from)),
    ticks: (most) => (log ? logTicks : linearTicks)(...ends.map((v) => v / ofTicks), most).map((t) => t * ofTicks),
    labels: (ticks) => {
      const values = ticks.map((t) => t / by);
      const each = values.map((v) => short(v, unit));
      return log && new Set(each).size === each.length ? each : shortAll(values, unit);
    },
  };
};

const levelScale = (levels, words = (text) => text) => {
  const most = Math.max(levels.length, 1);
  return {
    at: (place) => (place + 0.5) / most,
    value: (share) => share * most - 0.5,
    ticks: (wanted) => levels.map((_, i) => i).filter((i) => i % Math.ceil(most / Math.max(wanted * 1.6, 1)) === 0),
    labels: (ticks) => ticks.map((place) => shortened(words(levels[place]), 14)),
    levels,
  };
};

// Adds an SVG element.
const draw = (parent, tag, attributes, text) => {
  const made = parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", tag));
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

const coordinate = (v) => String(Math.round(v * 10) / 10);

// A line through places, each [x, y].
const lineThrough = (places) =>
  places.map(([x, y], at) => `${at ? "L" : "M"}${coordinate(x)} ${coordinate(y)}`).join("");

const crossAt = (x, y) => `M${coordinate(x - 3)} ${coordinate(y - 3)}l6 6m0-6l-6 6`;

// The area of a plot in its picture, with conversions between values and pixels.
const makeFrame = (width, height, x, y, edges) => {
  const frame = { left: 62, top: 26, right: width - 14, bottom: height - 40, x, y, ...edges };
  frame.px = (v) => frame.left + x.at(v) * (frame.right - frame.left);
  frame.py = (v) => frame.bottom - y.at(v) * (frame.bottom - frame.top);
  frame.vx = (px) => x.value((px - frame.left) / (frame.right - frame.left));
  frame.vy = (py) => y.value((frame.bottom - py) / (frame.bottom - frame.top));
  return frame;
};

// The second axis may be absent.
const drawAxes = (svg, frame, titles) => {
  const { left, top, right, bottom, x, y } = frame;
  const axes = draw(svg, "g", { class: "axis" });
  const label = (at, up, anchor, text, name) =>
    draw(axes, "text", { x: coordinate(at), y: coordinate(up), "text-anchor": anchor, ...name }, text);
  const across = x.ticks((right - left) / 80);
  const up = y ? y.ticks((bottom - top) / 45) : [];
  const grid = [
    ...across.map((tick) => `M${Math.round(frame.px(tick)) + 0.5} ${top}V${bottom}`),
    ...up.map((tick) => `M${left} ${Math.round(frame.py(tick)) + 0.5}H${right}`),
  ];
  draw(axes, "path", { d: grid.join("") });
  x.labels(across).forEach((text, i) => label(frame.px(across[i]), bottom + 16, "middle", text));
  if (y) y.labels(up).forEach((text, i) => label(left - 6, frame.py(up[i]) + 4, "end", text));
  label(right, bottom + 34, "end", titles[0], { class: "name" });
  if (y) label(4, top - 12, "start", titles[1], { class: "name" });
};

// --- the data of a plot as a table: { head, rows, all, others } ---
const FIGURES_MOST = 250;

const fillFigures = (place, { head, rows, all, others }) => {
  const made = element("table", { className: "plain" });
  const body = made.createTBody();
  made.createTHead().insertRow().append(...head.map((title) => element("th", { scope: "col" }, title)));
  for (const row of rows) {
    const line = body.insertRow();
    for (const text of row) line.insertCell().textContent = text;
  }
  place.querySelector(".scroll").replaceChildren(made);
  place.querySelector(".note").textContent = rows.length < all ? `${rows.length} of ${all} ${others}` : "";
};

// `make` is only called while the table is open.
const showFigures = (place, caption, make) => {
  place.hidden = false;
  place.querySelector("summary").textContent = `${caption}, as a table`;
  place.ontoggle = () => place.open && fillFigures(place, make());
  place.ontoggle();
};

// A coloured dot, or a line with dashes, and a name for each entry; a click may change the filter.
const drawLegend = (list, entries) => {
  list.replaceChildren(...entries.map(({ colour, label, click, dashes }) => {
    const dot = element("i", { className: dashes === undefined ? "dot" : "dashes" });
    if (dashes !== undefined) {
      const line = draw(dot, "svg", { viewBox: "0 0 34 6", width: 34, height: 6, "aria-hidden": true });
      draw(line, "path", { class: "curve", d: "M0 3h34", "stroke-dasharray": dashes });
    }
    const words = click ? element("button", { type: "button", className: "plain", onclick: click }, label)
      : element("span", {}, label);
    dot.style.color = colour;
    return element("li", {}, dot, words);
  }));
};
