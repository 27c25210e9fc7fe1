// --- saving: a plot as SVG or PNG, its figures and the jobs that are shown as CSV ---
const DRAWN_AS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity",
  "stroke-linecap", "stroke-linejoin", "font", "text-anchor", "display"];
const PNG_SCALE = 2;

const saveAs = (name, blob) => {
  const href = URL.createObjectURL(blob);
  element("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
};

// The plot by itself: what the style sheet says of it, and the points of a canvas behind it, are in the picture.
const standAlone = (svg) => {
  const copy = svg.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll("*")];
  [svg, ...svg.querySelectorAll("*")].forEach((shape, at) => {
    const style = getComputedStyle(shape);
    copies[at].setAttribute("style", DRAWN_AS.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
  });
  const { width, height } = svg.viewBox.baseVal?.width ? svg.viewBox.baseVal : svg.getBoundingClientRect();
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) {
    copy.setAttribute(name, value);
  }
  copy.style.background = ink("--bg");
  const canvas = svg.previousElementSibling;
  if (canvas instanceof HTMLCanvasElement) {
    copy.prepend(draw(copy, "image", { href: canvas.toDataURL(), width, height }));
  }
  return { text: new XMLSerializer().serializeToString(copy), width, height };
};

const savePng = (name, { text, width, height }) => {
  const image = new Image();
  const canvas = element("canvas", { width: width * PNG_SCALE, height: height * PNG_SCALE });
  image.onload = () => {
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => saveAs(name, blob));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
};

const saveCsv = (name, rows) => {
  const field = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  saveAs(name, new Blob([rows.map((row) => `${row.map(field).join(",")}\r\n`).join("")], { type: "text/csv" }));
};

// The plots of a table of figures stand before it, after the one before.
const plotsOf = (figures) => {
  const all = [...document.querySelectorAll(".plot svg, .drawn svg, details.figures")];
  const at = all.indexOf(figures);
  const before = all.slice(0, at).findLastIndex((e) => e.matches("details"));
  return all.slice(before + 1, at).filter((svg) => figures.closest("section").contains(svg));
};

const savePlots = (figures, name, save) => plotsOf(figures).forEach((svg, at, { length }) =>
  save(length > 1 ? `${name}-${at + 1}` : name, standAlone(svg)));

const saveFigures = (figures, name) => {
  const wasOpen = figures.open;
  figures.open = true;
  figures.ontoggle?.();
  const text = (cell) => cell.textContent.trim();
  saveCsv(`${name}.csv`, [...figures.querySelector("table").rows].map((row) => [...row.cells].map(text)));
  figures.open = wasOpen;
};

const saveButton = (words, onclick) => element("button", { type: "button", className: "plain", onclick }, words);

const prepareSaving = () => {
  for (const figures of document.querySelectorAll("details.figures")) {
    const name = figures.closest("section").id;
    figures.after(element("p", { className: "save" },
      saveButton("SVG", () => savePlots(figures, name, (as, { text }) =>
        saveAs(`${as}.svg`, new Blob([text], { type: "image/svg+xml" })))),
      saveButton("PNG", () => savePlots(figures, name, (as, drawn) => savePng(`${as}.png`, drawn))),
      saveButton("CSV", () => saveFigures(figures, name))));
  }
  $("shown").after(saveButton("CSV", () => saveCsv("jobs.csv",
    [columns.map((c) => c.name), ...[...view].map((i) => columns.map((c) => c.text(i)))])));
};
