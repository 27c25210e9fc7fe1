"use strict";
// For a served page (meshsweep report --serve): fetches the lines that changed and replaces the page with the new one.
// It runs before the page's own script and runs that again on each new page; the state of the page is in its address.
(() => {
  const BUSY_MS = 1500; // the page is not replaced while someone uses it
  const BUSY_MOST_MS = 15000;
  const parts = []; // the text of the page as lists of lines (serve/server.h)
  let have = 0; // version of `parts`; 0: none yet
  let offered = 0; // version on the server
  let shown; // version on display
  let rows = 0; // the last change of rows on display, since the page was made
  let rowsOffered = 0;
  let rowsWait = false; // changed rows have arrived and wait until nobody uses the page
  let problem = null;
  let lost = false;
  let fetching = false;
  let busyUntil = 0;
  let waitingSince = 0;

  // --- listeners that the page's script registers on window and document are removed with the page ---
  const registered = [];
  const listen = EventTarget.prototype.addEventListener;
  for (const target of [window, document]) {
    target.addEventListener = (type, listener, options) => {
      registered.push([target, type, listener, options]);
      listen.call(target, type, listener, options);
    };
  }
  const forget = () => {
    for (const [target, type, listener, options] of registered.splice(0)) {
      target.removeEventListener(type, listener, options);
    }
  };

  // --- status lines ---
  const tell = () => {
    const header = document.querySelector("header");
    if (!header) return;
    const told = document.getElementById("live") || document.createElement("p");
    told.id = "live";
    told.setAttribute("role", "status");
    told.className = lost || problem ? "lost" : "";
    if (lost) told.textContent = "Not live: the server does not answer. What is shown may be out of date.";
    else if (problem) told.textContent = `Not live: ${problem}`;
    else told.textContent = shown < offered ? "Live: new results are on their way" : "Live";
    if (!told.isConnected) header.append(told);
  };

  // No role=status here: it changes once a second, and would be read out each time.
  const tellRows = (text) => {
    const told = document.getElementById("since") || document.createElement("p");
    told.id = "since";
    told.className = "note";
    told.textContent = text;
    if (!text) told.remove();
    else if (!told.isConnected) document.querySelector("header").append(told);
  };

  // --- replacing the page ---
  const openDetails = () => [...document.querySelectorAll("details")].map((d) => d.open);

  const run = (script) => {
    const again = document.createElement("script");
    // Its own scope like a module, but run at once, so that no input is lost in between.
    again.textContent = `(() => { "use strict"; ${script.textContent}\n})();`;
    script.replaceWith(again);
  };

  const replace = () => {
    const fresh = new DOMParser().parseFromString(parts.map((lines) => lines.join("\n")).join("\n"), "text/html");
    const at = [scrollX, scrollY];
    const opened = openDetails();
    const focus = document.activeElement?.id;
    forget();
    document.title = fresh.title;
    document.body.replaceWith(document.adoptNode(fresh.body));
    for (const script of document.body.querySelectorAll("script[type=module]")) run(script);
    const details = document.querySelectorAll("details");
    if (details.length === opened.length) details.forEach((d, i) => (d.open = opened[i]));
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
    shown = have;
    rows = 0;
    waitingSince = 0;
    document.documentElement.dataset.version = shown;
    tell();
    scrollTo(...at);
    update();
  };

  const isBusy = () => {
    const now = performance.now();
    if (document.hidden) return true;
    return now < busyUntil && now - waitingSince < BUSY_MOST_MS;
  };

  const show = () => {
    if (shown === have) return;
    waitingSince ||= performance.now();
    if (isBusy()) setTimeout(show, 300);
    else replace();
  };

  // The page's script handles the event and says what to tell the reader.
  const showRows = (answer) => {
    waitingSince ||= performance.now();
    const event = new CustomEvent("rows", { detail: { changed: answer.changed, search: answer.search } });
    if (answer.version === shown && !isBusy()) document.dispatchEvent(event);
    rowsWait = answer.version === shown && event.detail.told === undefined;
    if (rowsWait) {
      setTimeout(() => showRows(answer), 300);
    } else if (answer.version === shown) {
      rows = answer.rows;
      waitingSince = 0;
      tellRows(event.detail.told);
      update();
    }
  };

  for (const type of ["pointermove", "pointerdown", "keydown", "wheel", "input"]) {
    listen.call(document, type, () => (busyUntil = performance.now() + BUSY_MS), { passive: true, capture: true });
  }

  // --- fetching changes ---
  const take = (answer) => {
    parts.length = answer.parts;
    for (const [index, part] of Object.entries(answer.changed)) {
      const lines = (parts[index] ||= []);
      lines.length = part.count;
      for (const [line, text] of Object.entries(part.lines)) lines[line] = text;
    }
    have = answer.version;
  };

  const ask = async (path) => (await fetch(path)).json();

  const update = async () => {
    const isPage = offered !== shown && have < offered;
    const isRows = offered === shown && rows < rowsOffered && !rowsWait;
    if (fetching || (!isPage && !isRows)) return;
    fetching = true;
    try {
      if (isPage) {
        take(await ask(`changes?since=${have}`));
        show();
      } else {
        showRows(await ask(`rows?since=${rows}`));
      }
    } catch {
      // The event stream tells whether the server is there.
      if (isPage) offered = have;
      else rowsOffered = rows;
    }
    fetching = false;
    tell();
    update();
  };

  // The version of the page as sent is in a comment at its end.
  const sentVersion = () => Number([...document.childNodes].find((n) => n.nodeType === Node.COMMENT_NODE)?.data);

  const start = () => {
    const events = new EventSource("events");
    events.onopen = () => {
      lost = false;
      tell();
    };
    events.onmessage = (event) => {
      const told = JSON.parse(event.data);
      problem = told.problem;
      lost = false;
      offered = told.version;
      rowsOffered = told.rows;
      tell();
      update();
    };
    events.onerror = () => {
      lost = true;
      tell();
    };
    shown = sentVersion();
    tell();
  };

  listen.call(window, "DOMContentLoaded", start);
})();
