-- Jobs that [sweep] subject_to keeps from winning: the list `subject_to` of `meshsweep status --json` and
-- `best --json`, and beside it what only the text has. ?1: the objective (NULL: the sweep's); ?2: whether it is to be
-- high; ?3: the winner's value (NULL: no job wins; then no condition binds, and told is the job that misses its worst
-- condition by least); ?4: the jobs that compete, a list, each with its group's winner's value (NULL: all with ?3).
WITH
rival (job, winner) AS MATERIALIZED (SELECT value ->> 0, value ->> 1 FROM json_each(?4)),
asked (objective, maximise) AS MATERIALIZED (
    SELECT coalesce(?1, objective), coalesce(?2, maximise) FROM current_sweep),
-- By ok jobs that ran to their end. Without conditions no job is looked at.
missed AS MATERIALIZED (
    SELECT b.position, j.id AS job, m.value AS objective, b.value, b.bound, b.excess, b.note,
        iif(?4 IS NULL, ?3, r.winner) AS winner
    FROM (SELECT 1 FROM subject_to LIMIT 1) CROSS JOIN job AS j JOIN attempt AS a ON a.id = j.attempt_id
    JOIN breach AS b ON b.attempt_id = a.id
    LEFT JOIN job_metric AS m ON m.job_id = j.id AND m.name = (SELECT objective FROM asked)
    LEFT JOIN rival AS r ON r.job = j.id
    WHERE j.state = 'ok' AND j.sweep_id = (SELECT id FROM current_sweep) AND j.id NOT IN excluded_job
        AND (?4 IS NULL OR r.job IS NOT NULL)
        AND (a.stopped_steps IS NULL OR EXISTS (SELECT 1 FROM trial AS t WHERE t.job_id = a.job_id
            AND t.attempt_id = a.id AND t.resource > 0 AND a.stopped_steps >= t.resource))),
better AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY position ORDER BY iif(maximise, -missed.objective, missed.objective), job) AS n
    FROM missed, asked WHERE iif(maximise, missed.objective > winner, missed.objective < winner)),
-- A condition that is missed by an unknown share is farther than a known one. Where a job meets all and none wins
-- nevertheless, it is for want of an objective.
nearest AS MATERIALIZED (
    SELECT *, max(coalesce(excess, 9e99)) AS worst FROM missed
    WHERE ?3 IS NULL AND NOT EXISTS (
        SELECT 1 FROM job AS good JOIN attempt AS o ON o.id = good.attempt_id
        WHERE good.state = 'ok' AND good.sweep_id = (SELECT id FROM current_sweep) AND good.id NOT IN excluded_job
            AND NOT EXISTS (SELECT 1 FROM breach WHERE breach.attempt_id = o.id)
            AND (o.stopped_steps IS NULL OR EXISTS (SELECT 1 FROM trial AS t WHERE t.job_id = o.job_id
                AND t.attempt_id = o.id AND t.resource > 0 AND o.stopped_steps >= t.resource)))
    GROUP BY job ORDER BY worst, job LIMIT 1),
told AS MATERIALIZED (
    SELECT position, job, objective, value, bound, note FROM better WHERE n = 1
    UNION ALL SELECT position, job, objective, value, bound, note FROM nearest),
-- As JSON; what is not a finite number is null.
number (position, name, text) AS MATERIALIZED (
    SELECT position, name, CASE WHEN x = CAST(x AS INTEGER) AND abs(x) < 1e15 THEN printf('%d', x) ELSE printf('%!.17g', x) END
    FROM (SELECT position, 'objective' AS name, objective AS x FROM told UNION ALL SELECT position, 'value', value FROM told
          UNION ALL SELECT position, 'bound', bound FROM told)
    WHERE typeof(x) IN ('integer', 'real') AND abs(x) < 9e999),
condition AS MATERIALIZED (
    SELECT s.position, s.condition AS text, (SELECT count(*) FROM missed WHERE position = s.position) AS broken,
        (SELECT count(*) FROM better WHERE position = s.position) AS better, told.job, told.note
    FROM subject_to AS s LEFT JOIN told USING (position) ORDER BY s.position)

SELECT json_group_array(json_object('condition', c.text, 'binds', json(iif(c.better, 'true', 'false')),
    'broken', c.broken, 'better_jobs', c.better, 'job', c.job,
    'objective_value', (SELECT json(text) FROM number WHERE position = c.position AND name = 'objective'),
    'value', (SELECT json(text) FROM number WHERE position = c.position AND name = 'value'),
    'bound', (SELECT json(text) FROM number WHERE position = c.position AND name = 'bound'))) AS document,
    json_object('notes', json_group_array(note), 'nearest', (SELECT position FROM nearest),
    'excess', (SELECT excess FROM nearest)) AS beside
FROM condition AS c;
