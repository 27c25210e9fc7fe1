-- The first of each group that competes, and those that come close to the first one's: two lists in JSON, of which
-- sql/answers/best.sql makes the document. ?1: the objective; ?2: whether it is to be high; ?3: the group that is asked for
-- (NULL: all). The program puts `measured` before these and, where no configurations compete, a table of that name, of
-- `ranked_job` (results/configurations.h).
WITH
this (id) AS MATERIALIZED (SELECT id FROM current_sweep),
-- Down or up the index of values, as far as is wanted: one of the two gives rows.
ranked_job AS (
    SELECT '' AS comparison_group, job, value, NULL AS replicates, NULL AS replicates_failed, NULL AS replicates_open,
        NULL AS replicates_median, NULL AS replicates_low, NULL AS replicates_high, NULL AS replicates_stddev,
        NULL AS replicates_min, NULL AS replicates_max, NULL AS per_device FROM (
        SELECT * FROM (
            SELECT j.id AS job, m.value FROM job_metric AS m CROSS JOIN job AS j ON j.id = m.job_id
            CROSS JOIN measured AS a ON a.id = j.attempt_id
            WHERE ?2 AND m.name = ?1 AND m.value IS NOT NULL AND j.state = 'ok' AND j.sweep_id = (SELECT id FROM this)
            ORDER BY m.value DESC, j.id LIMIT 7)
        UNION ALL SELECT * FROM (
            SELECT j.id, m.value FROM job_metric AS m CROSS JOIN job AS j ON j.id = m.job_id
            CROSS JOIN measured AS a ON a.id = j.attempt_id
            WHERE NOT ?2 AND m.name = ?1 AND m.value IS NOT NULL AND j.state = 'ok' AND j.sweep_id = (SELECT id FROM this)
            ORDER BY m.value, j.id LIMIT 7))),
-- By group, the best first, as they come: a million are not sorted again.
competitor AS MATERIALIZED (
    SELECT row_number() OVER () AS n, lag(comparison_group) OVER () IS NOT comparison_group AS begins, * FROM configurations),
of_each AS MATERIALIZED (
    SELECT *, coalesce(lead(n) OVER (), (SELECT count(*) + 1 FROM competitor)) - n AS competitors FROM (
        SELECT * FROM competitor WHERE begins)),
-- A group has a part of its text ("num_hosts=1") if it has each term of it.
term (text) AS MATERIALIZED (SELECT ltrim(value, ' ,') FROM json_each('[' || replace(json_quote(?3), ', ', '","') || ']')),
winner AS MATERIALIZED (
    SELECT * FROM (SELECT *, max(comparison_group = ?3) OVER () AS exact FROM of_each)
    WHERE ?3 IS NULL OR iif(exact, comparison_group = ?3, NOT EXISTS (
        SELECT 1 FROM term WHERE text <> '' AND instr(' ' || comparison_group || ', ', ' ' || text || ', ') = 0
            AND instr(comparison_group || ', ', '.' || text || ', ') = 0))),
-- Those that cannot be told apart from it (lead_half_width).
alike (n, alike) AS MATERIALIZED (
    SELECT w.n, count(*) FROM competitor AS c JOIN winner AS w USING (comparison_group)
    WHERE EXISTS (SELECT 1 FROM competitor WHERE replicates > 1) AND c.n > w.n AND abs(c.value - w.value) <= half_width(w.replicates_stddev / sqrt(w.replicates),
        w.replicates - 1, c.replicates_stddev / sqrt(c.replicates), c.replicates - 1, competitors)
    GROUP BY 1),
-- Within 2 %; at most five others are listed, and one shows that there are more.
near AS (
    SELECT c.job, c.value FROM (SELECT * FROM winner ORDER BY n LIMIT 1) AS w
    JOIN competitor AS c ON c.n BETWEEN w.n AND w.n + min(w.competitors, 7) - 1 AND abs(c.value - w.value) <= 0.02 * abs(w.value)
    ORDER BY c.n)

SELECT (SELECT json_group_array(json_object('group', nullif(comparison_group, ''), 'job', job,
        'value', json(number(value)), 'per_device', json(number(per_device)), 'configurations', competitors,
        'replicates', json(iif(replicates IS NULL, NULL, json_object('ok', replicates, 'failed', replicates_failed,
            'open', replicates_open, 'median', json(number(replicates_median)), 'low', json(number(replicates_low)),
            'high', json(number(replicates_high)), 'stddev', json(number(replicates_stddev)),
            'minimum', json(number(replicates_min)), 'maximum', json(number(replicates_max)), 'alike', coalesce(alike, 0))))))
        FROM (SELECT * FROM winner ORDER BY n) LEFT JOIN alike USING (n)) AS groups,
    (SELECT json_group_array(json_object('job', job, 'value', json(number(value)))) FROM near) AS close;
