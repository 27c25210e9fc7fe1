-- What the report's overview remarks on below its numbers, as a document (src/page/document.c).
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
        FROM (SELECT * FROM others ORDER BY place) GROUP BY NULL)

SELECT json_group_array(json_object('note', json(note))) FROM remarks;
