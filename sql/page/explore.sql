-- The report's section "Any two against each other", which the script fills (explore.js), as a document
-- (src/page/document.c).
WITH
choices (label, id, log) AS (
    VALUES ('across', 'x', 1), ('up', 'y', 1), ('colour', 'colour', 0), ('facets', 'facet', 0), ('join by', 'join', 0)),
choice (html) AS (
    SELECT group_concat(printf('<label>%s <select id=plot-%s></select></label>' || char(10), label, id) || iif(log,
        printf('<label><input type=checkbox id=plot-log%s>log</label>' || char(10), id), ''), '')
    FROM choices)

SELECT json_array(iif(EXISTS (SELECT 1 FROM job WHERE sweep_id = (SELECT id FROM current_sweep)), json_object('html',
    '<form id=plot-form hidden>' || html || '<label><input type=checkbox id=plot-zoom>a rectangle zooms</label> '
    || '<button type=button id=plot-out hidden>zoom out</button></form>
<div id=plots class=drawn></div>
<ul class=legend id=plot-legend></ul>
<details class=figures id=plot-figures hidden><summary></summary><div class=scroll tabindex=0></div><p class=note></p></details>
<p class=note><span id=plot-note></span> Rings mark the winner and pinned jobs; dashed lines are conditions and the '
    || 'devices'' memory. With Shift, or where the box is ticked, a rectangle here zooms. Draw one over any plot to filter '
    || 'all plots and the <a href="#jobs">table of jobs</a>, which has the same values as text.</p>
'),
    json_object('none', 'There are no jobs.'))) FROM choice;
