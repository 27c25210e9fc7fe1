-- The report's section "Failures", by cause, as a document (src/page/document.c). ?1: the causes (docs/json.md); ?2: of each,
-- the keys with which it is more frequent, in words; ?3: how many more there are.
WITH
cause (n, html) AS (
    SELECT c.key, printf('<li><p><b><i class="x-%s"></i> %d job%s</b> %s, as <a href="#j%d">job %d</a>: <code>', class, jobs,
            iif(jobs = 1, '', 's'), class, job, job) || html(coalesce(message, '(no message)'), 400) || '</code>'
        || coalesce('; then: <code>' || html(consequence, 400) || '</code>', '') || '</p>
' || coalesce((SELECT '<p class=where><b>' || group_concat(html(value, 400), '</b>; <b>') || '</b></p>
' FROM json_each(w.value) HAVING count(*)), '')
        || coalesce((SELECT printf('<details><summary>The end of the output of job %d</summary><pre tabindex=0>', job)
                || html_lines(last_lines(log_tail, 30), 400) || '</pre></details>
' FROM attempt WHERE id = (SELECT attempt_id FROM job WHERE id = c.job) AND log_tail <> ''), '')
    FROM (SELECT key, value ->> 'class' AS class, value ->> 'jobs' AS jobs, value ->> 'example_job' AS job,
            value ->> 'message' AS message, value ->> 'consequence' AS consequence
        FROM json_each(?1) WHERE key < 40) AS c
    JOIN json_each(?2) AS w ON w.key = c.key),
pieces (place, piece) AS (
    SELECT 1, json_object('none', 'No job failed.') WHERE json_array_length(?1) = 0
    UNION ALL SELECT 2, json_object('html', '<p class=note>Failures whose messages differ only in numbers, ranks, times, addresses '
        || 'and the like count as one cause. Key values are named if the cause is more frequent with them than chance explains, '
        || 'among the jobs that ended.</p>
<ol class=causes>
' || group_concat(html, '') || '</ol>
') FROM (SELECT html FROM cause ORDER BY n) HAVING count(*)
    UNION ALL SELECT 3, json_object('none', 'There are further causes; meshsweep status and sql/queries/failures_grouped.sql list '
        || 'them.') WHERE json_array_length(?1) > 40 OR ?3)

SELECT json_group_array(json(piece)) FROM (SELECT piece FROM pieces ORDER BY place);
