"""Reads and walks a report as those do who use no mouse or see no plots: check_access.py CHROMIUM REPORT

Names and roles are those that Chromium hands to screen readers. Prints one line per thing that is not as it should be;
status 1 when there is any."""

from check_report import ROWS, expect, go, main_of, wait

NAMED = {"button", "link", "textbox", "searchbox", "checkbox", "combobox", "ComboBoxSelect", "image", "img",
         "application", "DisclosureTriangle", "heading", "columnheader", "rowheader", "region", "navigation"}

# Contrast after WCAG 2.2, 1.4.3: of text and what lies behind it. Names of what is too faint.
CONTRAST = """(() => {
  const probe = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = colour;
    probe.fillRect(0, 0, 1, 1);
    return [...probe.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => rgba(colour).slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (element) => {
    const cell = element.closest('.map text.light, .map text.dark');
    if (cell) {
      let rect = cell.previousElementSibling;
      while (rect.tagName !== 'rect') rect = rect.previousElementSibling;
      return rect.getAttribute('fill');
    }
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (rgba(colour)[3] === 255) return colour;
    }
    return 'white';
  };
  const faint = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility() || element.closest('script, style, title, desc, option')) continue;
    const style = getComputedStyle(element);
    const ink = element.closest('svg') ? style.fill : style.color;
    const [a, b] = [light(ink), light(behind(element))].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) faint.add(`${element.tagName}.${element.getAttribute('class')} ${ratio.toFixed(2)}`);
  }
  return [...faint];
})()"""

# Each plot with what stands for it: a table with rows in its own part of the page, or that of all jobs.
PLOTS = """[...document.querySelectorAll('.plot svg, main .drawn svg')].map((plot) => {
  const part = plot.closest('.map') || plot.closest('section');
  const tables = [...part.querySelectorAll('details.figures table')];
  const id = plot.querySelector('title')?.id || plot.closest('section').id;
  return [id, tables.some((t) => t.tBodies[0].rows.length && t.tHead.rows[0].cells.length > 1)
    || (part.id === 'parallel' && part.querySelector('.note a').hash === '#jobs')];
})"""


def read_structure(page):
    expect("a language", page.value("document.documentElement.lang"), "en")
    expect("no id twice", page.value("(() => { const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);"
                                     " return ids.filter((id, at) => ids.indexOf(id) !== at); })()"), [])
    levels = page.value("[...document.querySelectorAll('h1, h2, h3, h4')].filter((h) => h.checkVisibility())"
                        ".map((h) => Number(h.tagName[1]))")
    expect("one title of the page, first", (levels[0], levels.count(1)), (1, 1))
    expect("no level of titles is left out", [b for a, b in zip(levels, levels[1:]) if b > a + 1], [])
    expect("cells have titles", page.value("[...document.querySelectorAll('table')].every((t) => t.querySelector('th[scope]'))"))
    expect("no title of a column is empty", page.value("[...document.querySelectorAll('th')].filter((t) => !t.textContent.trim()).length"), 0)


def nodes_of(page):
    return [(n["role"]["value"], n.get("name", {}).get("value", "").strip())
            for n in page.ask("Accessibility.getFullAXTree")["nodes"] if not n.get("ignored") and "role" in n]


def read_names(page):
    page.ask("Accessibility.enable")
    expect("all titles are there, in sight or not", [name for role, name in nodes_of(page) if role == "heading"], page.value(
        "[...document.querySelectorAll('h1, h2, h3')].filter((h) => h.checkVisibility()).map((h) => h.textContent)"))
    summaries = page.value("[...document.querySelectorAll('main details.figures')].filter((d) => d.checkVisibility())"
                           ".map((d) => d.querySelector('summary').textContent)")
    expect("so are the tables of all plots, however far off", (len(summaries) > 5, [s for s in summaries if s not in
           [name for role, name in nodes_of(page) if role == "DisclosureTriangle"]]), (True, []))
    page.value("document.body.insertAdjacentHTML('beforeend', '<style id=seen>* { content-visibility: visible !important }</style>')")
    wait(page)
    role = nodes_of(page)
    expect("what has a role has a name", sorted({r for r, name in role if r in NAMED and not name}), [])
    expect("plots are there", sum(r in ("application", "img", "image") for r, _ in role) > 5)
    expect("and a main part", [r for r, _ in role].count("main"), 1)
    page.value("document.getElementById('seen').remove()")
    page.ask("Accessibility.disable")


def read_tables(page):
    page.value("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    wait(page)
    plots = page.value(PLOTS)
    expect("plots were found", len(plots) > 5)
    expect("each plot has a table", [name for name, has in plots if not has], [])
    rows = page.value("[...document.querySelectorAll('#plot-figures tr')].map((r) => [...r.cells].map((c) => c.textContent))")
    jobs = page.value(ROWS)
    names = [name.split(" (")[0] for name in rows[0]]
    expect("with the jobs that it shows", {r[0] for r in rows[1:]} <= {r["job"] for r in jobs} and len(rows) > 2)
    by_job = {r["job"]: r for r in jobs}
    expect("and their numbers", [r for r in rows[1:] if any(by_job[r[0]][n] != v for n, v in zip(names, r))], [])
    go(page, "#q=job%3D" + rows[1][0])
    shown = page.value("[...document.querySelectorAll('#plot-figures tbody tr')].map((r) => r.cells[0].textContent)")
    expect("it follows the filter", shown, [rows[1][0]])
    go(page, "#q=")


def read_contrast(page):
    page.value("document.body.insertAdjacentHTML('beforeend', '<style>* { content-visibility: visible !important }</style>')")
    for theme in "light", "dark":
        go(page, "#theme=" + theme)
        expect("nothing is too faint, " + theme, page.value(CONTRAST), [])
        go(page, "#job=1&theme=" + theme)
        expect("nor of a job, " + theme, page.value(CONTRAST), [])
    go(page, "#q=")


FOCUS = """(() => { const e = document.activeElement;
  const all = [...document.querySelectorAll('*')];
  return [all.indexOf(e), e.tagName + '#' + e.id + '.' + e.className, getComputedStyle(e).outlineStyle !== 'none',
    e === document.body, Boolean(e.closest('svg, .plot'))]; })()"""


def walk(page):
    """With the key Tab from the top to the end."""
    page.value("document.querySelectorAll('details').forEach((d) => (d.open = false))")
    page.value("scrollTo(0, 0)")
    order, faint, plots = [], [], 0
    for _ in range(1000):
        for kind in "rawKeyDown", "keyUp":
            page.ask("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        at, name, outlined, is_end, in_plot = page.value(FOCUS)
        if is_end or (order and at == order[0]):
            break
        order.append(at)
        plots += in_plot
        if not outlined:
            faint.append(name)
    expect("the first stop leads past the sections", page.value("document.querySelectorAll('*')[%d].className" % order[0]), "skip")
    expect("stops are in the order of the page", order, sorted(order))
    expect("each can be seen", faint, [])
    expect("each plot is one stop", plots, page.value(
        "[...document.querySelectorAll('.plot, .drawn svg[tabindex]')].filter((p) => p.checkVisibility()).length"))
    reached = set(order)
    wanted = page.value("""(() => { const all = [...document.querySelectorAll('*')];
        return all.filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && !e.closest('details:not([open]) > :not(summary)')
          && e.matches('button, select, input, summary, a[href], svg[role=application]')).map((e) => all.indexOf(e)); })()""")
    expect("everything that can be used was reached", [at for at in wanted if at not in reached], [])


def use(page):
    page.ask("Emulation.setDeviceMetricsOverride", width=1200, height=1000, deviceScaleFactor=1, mobile=False)
    wait(page)
    read_structure(page)
    read_names(page)
    walk(page)
    read_tables(page)
    read_names(page)
    read_contrast(page)


if __name__ == "__main__":
    main_of(use)
