-- The report's section "Curves", which the script draws, as a document (src/page/document.c). ?1: of the first of them
-- [job, metric, samples, first, last, lowest, highest]; ?2: how many there are; ?3: of how many jobs; ?4: how many jobs
-- have any.
SELECT iif(?3 = 0, json_array(json_object('none', 'No job has reported a metric more than once, so there are no curves.')),
    json_array(
        json_object('html', '<form id=curve-form hidden><label>metric <select id=curve-metric></select></label><label><input '
            || 'type=checkbox id=curve-log>logarithmic</label><output id=curve-jobs></output></form>
<div id=curve-plot class=drawn></div><ul class=legend id=curve-legend></ul>
<details class=figures id=curve-figures hidden><summary></summary><div class=scroll tabindex=0></div><p class=note></p></details>
'),
        json_object('note', json_array('Curves of the pinned jobs or, without any, of the best jobs that pass the filter. With many '
            || 'samples, the lowest and the highest are drawn at each place. The warm-up, which summaries leave out, is shaded.'
            || iif(?4 > ?3, printf(' This page has the curves of %d of %d jobs: the best and some without an objective. The view '
                || '<code>sample</code> of the database has all.', ?3, ?4), ''))),
        json_object('figures', 'Curves by job and metric', 'columns', json_array('job', 'metric', 'samples', 'first', 'last',
                'lowest', 'highest'), 'rows', json(?1), 'all', ?2, 'others', 'curves of this page.')));
