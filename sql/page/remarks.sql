-- What the report's overview remarks on below its numbers, and the keys that were swept, as a document
-- (src/page/document.c).
WITH
this (id) AS MATERIALIZED (SELECT id FROM current_sweep),
-- Output and samples that were left out because of limits.
left_out (partial, thinned, example) AS (
    SELECT count(a.left_out), count(k.attempt_id), min(a.left_out)
    FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id
    LEFT JOIN (SELECT DISTINCT attempt_id FROM summary WHERE kept IS NOT NULL) AS k ON k.attempt_id = a.id
    WHERE j.sweep_id = (SELECT id FROM this)),
-- The page shows only the sweep that was run last.
others AS MATERIALIZED (
    SELECT name, row_number() OVER (ORDER BY last_seen DESC, id DESC) AS place FROM sweep
    WHERE id <> (SELECT id FROM this)),
remarks (note) AS (
    SELECT * FROM (SELECT json_array('Set aside: <b>', iif(device = '', 'node ' || host, 'device ' || device || ' of ' || host),
            printf('</b>, on which %d job%s failed that succeeded elsewhere; it is tried again at ', jobs, iif(jobs = 1, '', 's'))
                || strftime('%Y-%m-%d %H:%M:%S UTC', until / 1000, 'unixepoch') || ': <code>', message, '</code>')
        FROM place ORDER BY host, device)
    UNION ALL SELECT json_array('Jobs with metrics from only a part of their output (<code>partial</code>): ' || partial
        || ', for example: ', example) FROM left_out WHERE partial
    UNION ALL SELECT json_array('Jobs with so many samples that only evenly spaced ones are kept: ' || thinned
        || '. Their summaries cover all samples.') FROM left_out WHERE thinned
    -- Results that stand although they were made otherwise.
    UNION ALL SELECT json_array('Results that were made otherwise and stand all the same: ' || jobs || '. <code>', what,
        '</code>, accepted by ', who, strftime(' at %Y-%m-%d %H:%M:%S UTC', at / 1000, 'unixepoch') || iif(why IS NULL, '', ': '),
        why)
        FROM (SELECT count(*) AS jobs, what, who, why, at FROM accepted
            WHERE job_id IN (SELECT id FROM job WHERE sweep_id = (SELECT id FROM this)) GROUP BY change_id)
    UNION ALL SELECT json_array(printf('This page shows the sweep that was run last; the database has %d other%s: ',
            count(*), iif(count(*) = 1, '', 's')),
        group_concat(iif(place > 10, NULL, say('%80p', name)), ', '), iif(count(*) > 10, ', ….', '.'))
        FROM (SELECT * FROM others ORDER BY place) GROUP BY NULL
    UNION ALL SELECT json_array(printf('This page holds the first %d of %d jobs; <code>meshsweep export</code> has all.', jobs,
        jobs_in_all)) FROM page WHERE jobs < jobs_in_all),

key AS MATERIALIZED (SELECT *, levels > 1 AS varies FROM page_column WHERE is_key AND levels),
-- Some of their values.
shown (of, html) AS MATERIALIZED (
    SELECT of, group_concat(key_value(unit, text), ', ')
    FROM (SELECT l.of, k.unit, l.text FROM page_level AS l JOIN key AS k ON k.n = l.of WHERE l.place < 12 ORDER BY l.of, l.place)
    GROUP BY of),
tied (tied) AS MATERIALIZED (SELECT EXISTS (SELECT 1 FROM key WHERE varies AND (derived OR twin IS NOT NULL))),
swept (html) AS (
    SELECT group_concat('<tr><th scope=row>' || html(title, 80) || '<td>' || html
        || iif(levels > 12, printf(' and %d more', levels - 12), '') || printf('<td class=n>%d', levels) || iif(tied, '<td>', '')
        || CASE WHEN twin IS NOT NULL THEN 'moves with ' || html(twin, 80) WHEN derived THEN 'derived' ELSE '' END || char(10), '')
    FROM (SELECT * FROM key JOIN shown ON of = n JOIN tied WHERE varies ORDER BY n)),
same (html) AS (
    SELECT group_concat('<div><dt>' || html(title, 80) || '</dt><dd>' || html || '</dd></div>', '')
    FROM (SELECT * FROM key JOIN shown ON of = n WHERE NOT varies ORDER BY n)),
keys (piece) AS (
    SELECT json_object('none', 'The database has no jobs: every combination was excluded, or none has been enumerated.')
    FROM page WHERE jobs = 0
    UNION ALL SELECT json_object('html', '<div class=scroll tabindex=0><table class=plain><caption>Keys that were swept</caption>'
        || '<thead><tr><th scope=col>key<th scope=col>values<th scope=col>how many' || iif(tied, '<th scope=col>tied to', '')
        || '</thead><tbody>
' || coalesce(html, '') || '</tbody></table></div>
') FROM page, tied, swept WHERE jobs
    UNION ALL SELECT json_object('html', '<details><summary>The same in all jobs</summary><dl class=keys>' || html || '</dl></details>
') FROM same WHERE html IS NOT NULL)

SELECT json_group_array(json(piece)) FROM (
    SELECT json_object('note', json(note)) AS piece FROM remarks UNION ALL SELECT piece FROM keys);
