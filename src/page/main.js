// --- heat maps: one at a time ---
const maps = [...document.querySelectorAll(".map")];
const heatX = $("heat-x");
const heatY = $("heat-y");

// There is only one map for each pair of keys, whichever way round they are chosen.
const findMap = (a, b) => maps.find((m) => m.dataset.x === a && m.dataset.y === b);

const choose = (map) => {
  heatX.value = map.dataset.x;
  heatY.value = map.dataset.y;
};

const showMap = (changed) => {
  if (heatX.value === heatY.value) {
    const other = changed === heatX ? heatY : heatX;
    other.value = [...other.options].map((o) => o.value).find((v) => v !== changed.value);
  }
  const found = findMap(heatX.value, heatY.value) || findMap(heatY.value, heatX.value);
  for (const map of maps) map.hidden = map !== found;
  if (!found) return;
  choose(found);
  if (!found.querySelector("svg")) drawMap(found);
};

const prepareMaps = () => {
  const keys = [...new Set(maps.flatMap((m) => [m.dataset.x, m.dataset.y]))];
  for (const select of [heatX, heatY]) {
    select.append(...keys.map((key) => new Option(key, key)));
    select.addEventListener("change", () => showMap(select));
  }
  choose(maps[0]);
  $("heat-keys").hidden = false;
  $("heat-keys").addEventListener("submit", (event) => event.preventDefault());
  showMap(heatX);
};

// --- theme ---
const themeButton = $("theme");

const isDark = () => {
  if (root.classList.contains("dark")) return true;
  if (root.classList.contains("light")) return false;
  return matchMedia("(prefers-color-scheme: dark)").matches;
};

const label = () => {
  themeButton.textContent = isDark() ? "light" : "dark";
};

const prepareTheme = () => {
  themeButton.hidden = false;
  on("plot", () => {
    inks.clear();
    label();
  });
  themeButton.addEventListener("click", () => {
    const dark = isDark();
    state.theme = dark ? "light" : "dark";
    root.classList.toggle("dark", !dark);
    root.classList.toggle("light", dark);
    changed("plot");
    remember();
  });
};

// --- printing: plots are drawn again in the light theme ---
const preparePaper = () => {
  for (const [type, isPaper] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(type, () => {
      root.classList.toggle("paper", isPaper);
      inks.clear();
      if (count) drawNow();
    });
  }
};

// --- copying: without access to the clipboard, by selecting the text ---
const copyBySelecting = (text, done) => {
  const field = element("textarea", { value: text });
  document.body.append(field);
  field.select();
  if (document.execCommand("copy")) done();
  field.remove();
};

const prepareCopying = () => {
  for (const button of document.querySelectorAll("[data-copy]")) {
    const copying = copyButton(button.textContent, $(button.dataset.copy).textContent.trimEnd());
    button.replaceWith(copying);
  }
};

// --- start ---
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#j']");
  const id = link && /^#j(?:ob=)?(\d+)$/.exec(link.hash)?.[1];
  if (!id || !rowOf.has(Number(id))) return;
  event.preventDefault();
  visit(Number(id));
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (tip.hidden) closeChosen();
  hideTip();
});

if (maps.length) prepareMaps();
prepareTheme();
preparePaper();
prepareCopying();
if (count) {
  prepareTable();
  drawCharts();
  prepareMarks();
  prepareExplore();
  prepareCurves();
  prepareChosen();
  prepareSaving();
  let narrow = innerWidth;
  addEventListener("resize", () => {
    if (narrow !== innerWidth) drawSoon();
    narrow = innerWidth;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => changed("plot"));
}
recall();
if (isNew) changed("filter", "sort", "plot");
addEventListener("popstate", recall);
