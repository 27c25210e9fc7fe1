-- The statements that make the views `results` and `ranking` (src/results/views.h). ?1: [["model", "layers"], …], the keys as they
-- were found; ?2: whether any job has derived keys or predictions; ?3: whether configurations compete; ?4: which attempts `a` may
-- win, as SQL. SQLite keeps the text of a view as it is written here, which is how a change is noticed.

WITH
fixed (title) AS (VALUES ('job'), ('key'), ('sweep'), ('in_sweep'), ('state'), ('failure'), ('attempts'), ('duration_ms'),
    ('error'), ('directory'), ('started'), ('ended'), ('rank'), ('objective'), ('predicted_memory'),
    ('predicted_memory_of'), ('predicted_time'), ('max_rss'), ('device_note'), ('notes'), ('tags'), ('excluded'),
    ('partial'), ('not_finite'), ('columns_left_out')),
configured (n, title) AS (SELECT key, value FROM json_each('["comparison_group", "replicates", "replicates_failed",
    "replicates_open", "replicates_median", "replicates_low", "replicates_high", "replicates_stddev", "replicates_min",
    "replicates_max", "per_device"]')),

-- Facts of models alone are no results. Over every summary: distinct before anything is sorted.
fact AS MATERIALIZED (SELECT a.id FROM sweep AS s CROSS JOIN job AS j ON j.sweep_id = s.id
    CROSS JOIN attempt AS a ON a.job_id = j.id WHERE s.role IS NOT NULL),
metric_name AS (SELECT DISTINCT name FROM (SELECT name FROM metric_definition
    UNION ALL SELECT * FROM (SELECT DISTINCT name FROM summary) AS n WHERE NOT EXISTS (SELECT 1 FROM fact)
        OR EXISTS (SELECT 1 FROM summary AS s WHERE s.name = n.name AND s.attempt_id NOT IN fact))),

-- The columns that are there because of the data. Keys by section, derived ones by name.
found (part, n, most, section, name) AS MATERIALIZED (
    SELECT 'key', row_number() OVER (ORDER BY instr('cluster_spec model training_spec parallel_spec derived',
        value ->> 0), iif(value ->> 0 = 'derived', value ->> 1, ''), key), 1500, value ->> 0, value ->> 1 FROM json_each(?1)
    UNION ALL SELECT 'metric', row_number() OVER (ORDER BY name), 400, 'metric', name FROM metric_name),
titled AS MATERIALIZED (SELECT *, '"' || replace(iif(count(*) OVER (PARTITION BY name COLLATE NOCASE) > 1
            OR name COLLATE NOCASE IN (SELECT title FROM fixed UNION ALL SELECT title FROM configured),
        section || '.' || name, name), '"', '""') || '"' AS title FROM found WHERE n <= most),
-- SQLite's JSON paths have no escapes that every version understands: such keys are searched for.
written AS (SELECT *, CASE WHEN part = 'metric' THEN
            printf('(SELECT value FROM job_metric WHERE job_id = j.id AND name = %Q)', name)
        WHEN instr(name, '"') OR instr(name, '\') OR name GLOB '*[' || char(1) || '-' || char(31) || ']*' THEN
            printf('(SELECT value FROM json_each(%s) WHERE key = %Q)', json, name)
        ELSE printf('json_extract(%s, %Q)', json, '$."' || name || '"') END || ' AS ' || title || ',
       ' AS sql FROM (SELECT *, iif(section = 'derived', 'j.derived', section || '.json') AS json FROM titled)),
goal AS MATERIALIZED (SELECT s.objective, iif(s.maximise, 'DESC', 'ASC') AS way, t.n,
    coalesce(t.title, '"' || replace(s.objective, '"', '""') || '"') AS title,
    -- Terms of an order of jobs `j` that have the same number of it.
    coalesce((SELECT group_concat(
        printf(', (SELECT value FROM job_metric WHERE job_id = j.id AND name = %Q) %s NULLS LAST', metric,
            iif(maximise, 'DESC', 'ASC')), '') FROM (SELECT metric, maximise FROM further_objective
                WHERE sweep_id = s.id ORDER BY position)), '') AS further
    FROM current_sweep AS s LEFT JOIN titled AS t ON t.part = 'metric' AND t.name = s.objective WHERE s.objective IS NOT NULL),
-- Each question is answered by the first job that has it, or by all.
has AS MATERIALIZED (SELECT (SELECT EXISTS (SELECT 1 FROM attempt WHERE device_note IS NOT NULL)) AS device_note,
    EXISTS (SELECT 1 FROM note) AS notes,
    CASE WHEN ?2 THEN EXISTS (SELECT 1 FROM job WHERE predicted_memory IS NOT NULL) END AS predicted_memory,
    CASE WHEN ?2 THEN EXISTS (SELECT 1 FROM job WHERE predicted_time IS NOT NULL) END AS predicted_time,
    (SELECT count(*) FROM found WHERE n > most) AS left_out),
part AS MATERIALIZED (SELECT
    coalesce((SELECT group_concat(sql, '') FROM (SELECT sql FROM written WHERE part = 'key' ORDER BY n)), '') AS keys,
    coalesce((SELECT group_concat(sql, '') FROM (SELECT sql FROM written WHERE part = 'metric' ORDER BY n)), '') AS metrics,
    -- The columns of `results` but the metric that ranks.
    ', r.job, r.key, r.sweep, r.in_sweep'
    || coalesce((SELECT group_concat(', r.' || title, '') FROM (SELECT title FROM titled WHERE part = 'key' ORDER BY n)), '')
    || ', r.state, r.failure, r.attempts'
    || coalesce((SELECT group_concat(', r.' || title, '') FROM (SELECT title FROM titled
        WHERE part = 'metric' AND n IS NOT (SELECT n FROM goal) ORDER BY n)), '')
    || ', r.duration_ms, r.max_rss' || iif(device_note, ', r.device_note', '')
    || iif(predicted_memory, ', r.predicted_memory, r.predicted_memory_of', '')
    || iif(predicted_time, ', r.predicted_time', '') || ', r.partial' || iif(notes, ', r.notes, r.tags, r.excluded', '')
    || ', r.not_finite, r.error, r.directory, r.started, r.ended' || iif(left_out, ', r.columns_left_out', '') || '
' AS titles FROM has)

-- A job that a runner has claimed ahead of time does not run yet. Metrics are partial of what was ended or failed before it had
-- reported all, or of which not all was read. A computed metric has no samples of its own: those that are not finite are counted
-- where they were reported. The attempt is looked up by its id: statistics of a time when there was one attempt make scanning
-- another index look cheap.
SELECT 'CREATE VIEW results AS
SELECT j.id AS job, lower(hex(j.key)) AS key, s.name AS sweep,
       j.sweep_id = (SELECT id FROM current_sweep) AS in_sweep,
       ' || keys || 'CASE WHEN j.witness_id IS NOT NULL THEN ''pruned''
            WHEN j.held IS NOT NULL THEN ''held''
            WHEN j.state = ''running'' AND NOT EXISTS
           (SELECT 1 FROM attempt AS r WHERE r.job_id = j.id AND r.state = ''running''
            AND r.kind = ''trial'')
            THEN ''pending'' ELSE j.state END AS state, j.failure,
       (SELECT count(*) FROM attempt AS n WHERE n.job_id = j.id AND n.state <> ''claimed''
        AND n.kind = ''trial'') AS attempts,
       ' || metrics || 'a.duration_ms, a.max_rss,' || iif(device_note, ' a.device_note,', '')
    || iif(predicted_memory, ' j.predicted_memory, j.predicted_memory_of,', '') || iif(predicted_time, ' j.predicted_time,', '') || '
       CASE WHEN EXISTS (SELECT 1 FROM summary WHERE attempt_id = a.id AND coalesce(reported, count) > 0) THEN
           a.state <> ''ok'' OR a.stopped_steps IS NOT NULL OR a.left_out IS NOT NULL END AS partial,
' || iif(notes, '       (SELECT notes FROM job_note WHERE job_id = j.id) AS notes,
       (SELECT tags FROM job_note WHERE job_id = j.id) AS tags,
       (SELECT excluded FROM job_note WHERE job_id = j.id) AS excluded,
', '') || '       (SELECT sum(iif(reported, not_finite, iif(count, 0, NULL))) FROM summary WHERE attempt_id = a.id) AS not_finite,
       CASE WHEN j.state = ''failed'' THEN
           (SELECT message FROM attempt AS f WHERE f.job_id = j.id AND f.state = ''failed''
            AND f.kind = ''trial''
            ORDER BY number DESC LIMIT 1)
            WHEN j.witness_id IS NOT NULL THEN
           ''needs at least as much device memory as job '' || j.witness_id || '', which ran out of it''
            ELSE j.held END AS error,
       a.directory,
       strftime(''%Y-%m-%dT%H:%M:%SZ'', a.started / 1000, ''unixepoch'') AS started,
       strftime(''%Y-%m-%dT%H:%M:%SZ'', a.ended / 1000, ''unixepoch'') AS ended'
    || iif(left_out, printf(',
       %d AS columns_left_out', left_out), '') || '
FROM job AS j
LEFT JOIN sweep AS s ON s.id = j.sweep_id
LEFT JOIN spec AS cluster_spec ON cluster_spec.id = j.cluster_id
LEFT JOIN spec AS model ON model.id = j.model_id
LEFT JOIN spec AS training_spec ON training_spec.id = j.training_id
LEFT JOIN spec AS parallel_spec ON parallel_spec.id = j.parallel_id
LEFT JOIN attempt AS a NOT INDEXED ON a.id = j.attempt_id
WHERE s.role IS NULL',
    -- Ranks come from narrow rows; wide ones are looked up as they are asked for. The outer SELECT keeps the order of
    -- the inner one: it is materialised, and CROSS JOIN does not let the loops change places. SQLite sorts for the
    -- ranks, and for further objectives only where a LIMIT depends on that.
    'CREATE VIEW ranking AS
' || CASE WHEN objective IS NULL THEN 'SELECT NULL AS rank, NULL AS objective' || titles || 'FROM results AS r WHERE 0'
    WHEN ?3 THEN 'SELECT o.rank AS rank, o.value AS ' || title
        || (SELECT group_concat(', o.' || title, '') FROM (SELECT title FROM configured ORDER BY n)) || titles
        || 'FROM configurations AS o CROSS JOIN results AS r ON r.job = o.job'
    ELSE 'WITH o AS MATERIALIZED (
    SELECT j.id AS job, m.value AS value, rank() OVER (ORDER BY m.value ' || way || ') AS place
    FROM job AS j CROSS JOIN job_metric AS m ON m.job_id = j.id AND m.name = ' || quote(objective) || '
    WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state = ''ok''
          AND m.value IS NOT NULL
          AND EXISTS (SELECT 1 FROM attempt AS a WHERE a.id = j.attempt_id AND ' || ?4 || ')
    ORDER BY m.value ' || way || further || ', j.id' || iif(further = '', '', ' LIMIT -1') || ')
SELECT o.place AS rank, o.value AS ' || title || titles || 'FROM o CROSS JOIN results AS r ON r.job = o.job' END
FROM part CROSS JOIN has LEFT JOIN goal
