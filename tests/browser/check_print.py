"""Prints a report on A4, as a browser does: check_print.py CHROMIUM REPORT PAGES_MOST [PDF]

Prints one line per thing that is not as it should be; status 1 when there is any. With PDF, leaves what was printed
there."""

import base64
import re
import sys

from check_report import expect, go, main_of, wait

INCH = 72.0  # points
PIXEL = 96  # CSS pixels of an inch
WIDTH, LENGTH, MARGIN = 210, 297, 12  # of A4, in mm

# Elements that reach beyond the right edge of the paper, or are hidden by what they lie in.
CUT_OFF = """[...document.querySelectorAll(%r)].filter((e) => {
  if (!e.checkVisibility() || e.closest('svg') && e.tagName !== 'svg') return false;
  const box = e.getBoundingClientRect();
  const hidden = getComputedStyle(e).overflowX !== 'visible' && e.tagName !== 'svg' && e.scrollWidth > e.clientWidth + 1;
  return hidden || (box.width > 0 && box.right > document.documentElement.clientWidth + 1);
}).map((e) => `${e.tagName}#${e.id}.${e.getAttribute('class')}`)"""

SHOWN = "[...document.querySelectorAll(%r)].filter((e) => e.checkVisibility()).map((e) => e.tagName + '#' + e.id)"


def pages_of(pdf):
    """The sizes of the pages in points."""
    text = pdf.decode("latin-1")
    objects = dict(re.findall(r"(?s)\n(\d+) 0 obj\n(.*?)endobj", text))
    return [tuple(float(v) for v in re.search(r"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", o).groups())
            for o in objects.values() if re.search(r"/Type /Page\b", o)]


def look_at_paper(page):
    # The charts that the script has drawn are as wide as the screen.
    page.value("void (window.requestAnimationFrame = () => 0)")
    page.value("dispatchEvent(new Event('beforeprint'))")
    page.ask("Emulation.setEmulatedMedia", media="print")
    for what, width in ("#jobs *", LENGTH), ("main > :not(#jobs) *, header *, footer *", WIDTH):
        page.ask("Emulation.setDeviceMetricsOverride", width=int((width - 2 * MARGIN) / 25.4 * PIXEL), height=1000,
                 deviceScaleFactor=1, mobile=False)
        wait(page)
        expect("nothing is cut off", page.value(CUT_OFF % what), [])
    expect("no control is printed", page.value(SHOWN % "button:not(.plain, #table button), form, nav, select, input, .skip, #tip, #passing, #chosen"), [])
    expect("legends have words", page.value("document.querySelectorAll('#plot-legend button').length > 0"
                                            " && [...document.querySelectorAll('#plot-legend button')].every((b) => b.checkVisibility())"))
    expect("the paper is white", page.value("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
    expect("with the objective in its first columns", page.value(
        "[...document.querySelectorAll('#table th')].slice(0, 2).map((t) => t.innerText.split(' ')[0])"), ["job", "throughput"])
    expect("tables that were not opened are not announced", page.value(SHOWN % "details.figures"), [])
    page.value("dispatchEvent(new Event('afterprint'))")
    page.ask("Emulation.setEmulatedMedia", media="")
    page.ask("Emulation.setDeviceMetricsOverride", width=1400, height=1000, deviceScaleFactor=1, mobile=False)


def use(page):
    most = int(sys.argv[3])
    page.ask("Emulation.setDeviceMetricsOverride", width=1400, height=1000, deviceScaleFactor=1, mobile=False)
    # Whoever reads in the dark prints on white.
    go(page, "#theme=dark")
    look_at_paper(page)
    expect("on the screen it is dark again", page.value("document.documentElement.className"), "dark")
    pdf = base64.b64decode(page.ask("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"])
    if len(sys.argv) > 4:
        with open(sys.argv[4], "wb") as file:
            file.write(pdf)
    sizes = pages_of(pdf)
    expect("there are pages", 0 < len(sizes) <= most, True)
    print("%d pages" % len(sizes), file=sys.stderr)
    expect("of A4", {(round(w / INCH * 25.4), round(h / INCH * 25.4)) for w, h in sizes}, {(WIDTH, LENGTH), (LENGTH, WIDTH)})
    go(page, "#q=")


if __name__ == "__main__":
    main_of(use)
