"use strict";
// --- the jobs as columns: numbers, or distinct texts (`levels`) and the index of each job's (`codes`); see embed.c ---
const $ = (id) => document.getElementById(id);

const element = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

const data = JSON.parse($("data")?.textContent || '{"columns":[],"constants":{},"sizes":[],"conditions":[]}');

// Number() reads "Infinity", but takes an empty text for 0.
const toNumber = (text) => (text === "" || text === null ? NaN : Number(text));

// `text` and `number` take a row; `set` returns whether the value changed.
const makeColumn = (c) => {
  const column = { ...c, key: c.name.toLowerCase() };
  if (c.levels) {
    const codes = Int32Array.from(c.codes);
    const numbers = c.levels.map(toNumber);
    column.codes = codes;
    column.text = (i) => (codes[i] < 0 ? "" : c.levels[codes[i]]);
    column.number = (i) => (codes[i] < 0 ? NaN : numbers[codes[i]]);
    column.numeric = c.levels.length > 0 && numbers.every(isFinite);
    column.set = (i, text) => {
      let code = text === null ? -1 : c.levels.indexOf(text);
      if (text !== null && code < 0) {
        code = c.levels.push(text) - 1;
        numbers.push(toNumber(text));
      }
      const differs = codes[i] !== code;
      codes[i] = code;
      return differs;
    };
  } else {
    const numbers = Float64Array.from(c.numbers, toNumber);
    column.text = (i) => (c.numbers[i] === null ? "" : String(c.numbers[i]));
    column.number = (i) => numbers[i];
    column.numeric = true;
    column.set = (i, value) => {
      const differs = c.numbers[i] !== value;
      c.numbers[i] = value;
      numbers[i] = toNumber(value);
      return differs;
    };
  }
  return column;
};

const columns = data.columns.map(makeColumn);
const byName = new Map(columns.map((c) => [c.key, c]));
const columnOf = (name) => byName.get(String(name || "").toLowerCase());
const count = columns.length ? data.columns[0].numbers.length : 0;
const jobColumn = columns[0];
const stateColumn = columnOf("state");
const failureColumn = columnOf("failure");
const sought = data.objective ? columnOf(data.objective) : undefined;
const rowOf = new Map();
for (let i = 0; i < count; i++) rowOf.set(jobColumn.number(i), i);
const jobAt = (i) => jobColumn.number(i);
const winner = rowOf.get(data.best);
const keys = columns.filter((c) => c.role === "key");
const hasFailed = (i) => stateColumn !== undefined && stateColumn.text(i) === "failed";

// --- short numbers for people; tables and tooltips have all digits ---
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DECIMAL = ["", " k", " M", " G", " T", " P"];

const scaled = (value, base, names) => {
  let step = 0;
  while (step < names.length - 1 && Math.abs(value) >= base ** (step + 1)) step++;
  return [value / base ** step, names[step]];
};

const digits = (value) => String(Number(value.toPrecision(3)));

// "GiB" of "GiB reserved, rank 0".
const ownUnit = (unit) => /^[^ ,]*/.exec(unit)[0];

const isBytes = (unit) => ["B", "bytes"].includes(ownUnit(unit));

const short = (value, unit = "") => {
  if (!isFinite(value)) return isNaN(value) ? "" : String(value);
  if (isBytes(unit)) {
    const [v, name] = scaled(value, 1024, BINARY);
    return `${digits(v)} ${name}`;
  }
  const [v, prefix] = Math.abs(value) < 9999.5 ? [value, ""] : scaled(value, 1000, DECIMAL);
  return digits(v) + prefix;
};

// A value of a key for sentences and axes.
const keyText = ({ unit, role }, text) =>
  (role === "key" && isBytes(unit) && text ? short(toNumber(text), unit) : text);

// Labels of an axis: all with the prefix of the largest, and with enough digits to tell them apart.
const shortAll = (values, unit) => {
  const greatest = Math.max(...values.map(Math.abs));
  const [most, name] = isBytes(unit) ? scaled(greatest, 1024, BINARY)
    : greatest < 9999.5 ? [greatest, ""] : scaled(greatest, 1000, DECIMAL);
  const factor = greatest / most || 1;
  let texts = [];
  for (let places = 3; places < 16 && new Set(texts).size < values.length; places++) {
    texts = values.map((v) => String(Number((v / factor).toPrecision(places))));
  }
  return texts.map((text) => (isBytes(unit) ? `${text} ${name}` : text === "0" ? text : text + name));
};

// " (unit)" for the title of a column; bytes are named with each number instead.
const unitOf = ({ unit }) => {
  const rest = unit && isBytes(unit) ? unit.split(" ").slice(1).join(" ") : unit;
  return rest ? ` (${rest})` : "";
};

// --- the filter: words and conditions, such as: deep zero_stage=1|3 "peak memory">100 ---
const TOKEN = /(?:[^\s"]|"(?:[^"\\]|\\.)*")+/g;
const PART = /^((?:"(?:[^"\\]|\\.)*"|[^"=<>!])+?)(!=|>=|<=|=|>|<)(.*)$/s;

const unquote = (text) => text.replace(/"((?:[^"\\]|\\.)*)"/g, (_, inner) => inner.replace(/\\(.)/g, "$1"));
const quote = (text) => (/[\s"=<>!|]/.test(text) || text === "" ? `"${text.replace(/["\\]/g, "\\$&")}"` : text);

const tokens = (text) => text.match(TOKEN) || [];

// Alternatives are separated by "|" outside quotes.
const alternatives = (text) => (text.match(/(?:[^|"]|"(?:[^"\\]|\\.)*")+/g) || [""]).map(unquote);

const parse = (token) => {
  const parts = PART.exec(token);
  if (!parts) return { word: unquote(token).toLowerCase() };
  const name = unquote(parts[1]);
  return { token, name, column: columnOf(name), sign: parts[2], values: alternatives(parts[3]) };
};

const comparisons = {
  ">": (x, y) => x > y,
  "<": (x, y) => x < y,
  ">=": (x, y) => x >= y,
  "<=": (x, y) => x <= y,
};

// Tests each distinct text once instead of each row.
const byLevel = (column, holds, absent) => {
  const kept = Uint8Array.from(column.levels, (text) => holds(text, toNumber(text)));
  return (i) => (column.codes[i] < 0 ? absent : kept[column.codes[i]] === 1);
};

const compile = ({ word, column, sign, values, token }) => {
  if (!column) return compileWord(word ?? unquote(token).toLowerCase());
  if (comparisons[sign]) {
    const bound = toNumber(values[0]);
    const compare = comparisons[sign];
    if (column.levels) return byLevel(column, (_, number) => compare(number, bound), false);
    return (i) => compare(column.number(i), bound);
  }
  const wanted = sign === "=";
  const numbers = values.map(toNumber);
  const equal = (text, number) => values.includes(text) || numbers.some((n) => n === number);
  if (column.levels) return byLevel(column, (t, n) => equal(t, n) === wanted, values.includes("") === wanted);
  return (i) => equal(column.text(i), column.number(i)) === wanted;
};

const compileWord = (word) => {
  const texts = columns.filter((c) => c.levels).map((c) => byLevel(c, (t) => t.toLowerCase().includes(word), false));
  const job = Number(word);
  return (i) => jobAt(i) === job || texts.some((holds) => holds(i));
};

// Edit distance, to suggest a column for a mistyped one.
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

// What is wrong with a condition; "": nothing.
const complaint = ({ token, name, column, sign, values }) => {
  if (name === undefined) return "";
  if (column) {
    const wrong = comparisons[sign] && isNaN(toNumber(values[0]));
    return wrong ? `${token}: “${values[0]}” is no number` : "";
  }
  const wanted = name.toLowerCase();
  const near = [...columns].sort((a, b) => distance(wanted, a.key) - distance(wanted, b.key))[0];
  const hint = near && distance(wanted, near.key) <= 3 ? `; did you mean ${near.name}?` : "";
  return `there is no column ${name}${hint}`;
};

// --- sorting: numbers, then texts, then NaN and missing values, in either direction ---
const orders = new Map();

const orderBy = (column, descending) => {
  const name = `${column.name} ${descending}`;
  if (orders.has(name)) return orders.get(name);
  const way = descending ? -1 : 1;
  const number = column.number;
  const isNone = (i) => {
    const text = isNaN(number(i)) ? column.text(i) : "1";
    return text === "" || text === "NaN";
  };
  const rows = [[], [], []];
  for (let i = 0; i < count; i++) rows[!isNaN(number(i)) ? 0 : isNone(i) ? 2 : 1].push(i);
  // The difference of two equal infinities is NaN.
  rows[0].sort((a, b) => way * (number(a) - number(b) || 0) || a - b);
  rows[1].sort((a, b) => way * (column.codes ? column.codes[a] - column.codes[b] : 0) || a - b);
  const order = Int32Array.from([...rows[0], ...rows[1], ...rows[2]]);
  orders.set(name, order);
  return order;
};
