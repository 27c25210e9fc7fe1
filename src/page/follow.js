// --- on a served page: jobs that changed since it was made, as [job, { column: value }, barred] (page.h) ---
const followed = columns.filter((c) => c.role !== "key" && c !== jobColumn && c.name !== "predicted_memory_of");
const changedJobs = new Set();
let ahead = null; // the best of them, if it beats the winner that the page shows

const takeRow = (i, values) => {
  let differs = false;
  for (const column of followed) differs = column.set(i, values[column.name] ?? null) || differs;
  return differs;
};

const isAhead = (i, barred) => {
  const value = sought?.number(i);
  if (barred || winner === undefined || i === winner || stateColumn.text(i) !== "ok" || !isFinite(value)) return false;
  const best = sought.number(ahead ?? winner);
  return data.maximise ? value > best : value < best;
};

// Number of jobs by state and failure class.
const tallyOf = () => {
  const tally = new Map();
  const add = (name) => tally.set(name, (tally.get(name) || 0) + 1);
  for (let i = 0; i < count; i++) {
    add(stateColumn.text(i));
    if (hasFailed(i) && failureColumn) add(failureColumn.text(i));
  }
  return tally;
};

const showCards = (tally) => {
  const cards = document.querySelector("#overview .cards");
  for (const name of stateColumn.levels) {
    const known = cards.querySelector(`.card.${CSS.escape(name)}`);
    const card = known || element("div", { className: `card ${name}` }, element("b"), element("span"));
    if (!known) cards.append(card);
    card.querySelector("b").textContent = tally.get(name) || 0;
    // It may say that pending jobs will not run, which is no longer certain.
    card.querySelector("span").textContent = name;
  }
};

const showBar = (tally) => {
  const bar = document.querySelector("#overview svg.bar");
  const names = ["ok", ...(failureColumn ? failureColumn.levels : ["failed"]), "running", "pending"];
  const pieces = [];
  const items = [];
  let x = 0;
  for (const name of names.filter((n) => tally.get(n))) {
    const piece = document.createElementNS(bar.namespaceURI, "rect");
    const width = (1000 * tally.get(name)) / count;
    const place = { class: `x-${name}`, x, y: 0, width, height: 20 };
    for (const [key, value] of Object.entries(place)) piece.setAttribute(key, value);
    piece.append(document.createElementNS(bar.namespaceURI, "title"));
    piece.firstChild.textContent = `${tally.get(name)} ${name}`;
    pieces.push(piece);
    items.push(element("li", {}, element("i", { className: `x-${name}` }), `${name} ${tally.get(name)}`));
    x += width;
  }
  bar.replaceChildren(...pieces);
  bar.nextElementSibling.replaceChildren(...items);
};

const tellFollowed = () => {
  const made = /\d\d:\d\d:\d\d/.exec(document.querySelector("footer").textContent);
  const many = changedJobs.size === 1 ? "1 job has" : `${changedJobs.size} jobs have`;
  const better = ahead === null ? ""
    : ` Job ${jobAt(ahead)} is ahead of the winner below: ${withUnit(sought.number(ahead), sought.unit)}.`;
  return `${many} changed since ${made} UTC: the numbers of jobs by state, the table of all jobs and the plot of any `
    + `two have them, the rest of the page follows.${better}`;
};

// The server's sentence about the search (overview.c); empty until it differs from the one on the page.
const showSearch = (sentence) => {
  if (!sentence) return;
  const told = $("search") || element("p", { id: "search" });
  told.innerHTML = sentence;
  if (!told.isConnected) document.querySelector("#overview .cards").before(told);
};

const takeRows = (rows) => {
  for (const [id, values, barred] of rows) {
    const i = rowOf.get(id);
    if (i === undefined || !takeRow(i, values)) continue;
    changedJobs.add(id);
    if (isAhead(i, barred)) ahead = i;
  }
  if (!changedJobs.size) return "";
  const tally = tallyOf();
  orders.clear();
  showCards(tally);
  showBar(tally);
  changed("rows");
  return tellFollowed();
};

document.addEventListener("rows", (event) => {
  showSearch(event.detail.search);
  event.detail.told = takeRows(event.detail.changed);
});
