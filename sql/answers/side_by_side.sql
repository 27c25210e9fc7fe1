-- Two sets of jobs side by side: the document of `meshsweep compare JOB JOB --json` but for their logs. ?1, ?2: their ids
-- as JSON lists; ?3: what their files say (attempt_file), [[0 or 1, "config.yaml: data.lr", "0.1"], …]; NULL: left out.
-- A job is told by the attempt that stands for it, or its newest; several values of a set stand in one text. The program
-- has statistic(NAME, values, stddev, samples) of the runs of a side: src/commands/compare_jobs.c.
WITH
side (place, job) AS MATERIALIZED (
    SELECT 0, value FROM json_each(?1) UNION ALL SELECT 1, value FROM json_each(?2)),
ran AS MATERIALIZED (
    SELECT place, a.*, r.tool_version, r.host AS runner_host, iif(json_valid(r.provenance), r.provenance, '{}') AS provenance
    FROM side JOIN job AS j ON j.id = side.job JOIN attempt AS a ON a.id = coalesce(j.attempt_id,
        (SELECT max(id) FROM attempt WHERE job_id = j.id AND kind = 'trial')) LEFT JOIN runner AS r ON r.id = a.runner_id),
key (place, part, name, value) AS (
    SELECT place, 1, k.key, CASE k.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'real' THEN number(k.value)
        WHEN 'text' THEN iif(k.value IN ('', 'none') OR json_valid(k.value), json_quote(k.value), k.value) ELSE k.value END -- "1" is not 1
    FROM (SELECT place, s.json FROM side JOIN job AS j ON j.id = side.job
            JOIN spec AS s ON s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id)
        UNION ALL SELECT place, j.derived FROM side JOIN job AS j ON j.id = side.job) AS of, json_each(of.json) AS k),
fact (place, part, name, value) AS (
    SELECT * FROM key
    UNION ALL SELECT place, 0, 'state', j.state || coalesce(', ' || j.failure, '') FROM side JOIN job AS j ON j.id = side.job
    UNION ALL SELECT place, 0, 'excluded', n.excluded FROM side JOIN job_note AS n ON n.job_id = side.job
    UNION ALL SELECT place, 2, 'command', (SELECT group_concat(value, ' ') FROM json_each(ran.command)) FROM ran
    UNION ALL SELECT place, 3, e.key, e.value FROM ran, json_each(ran.environment) AS e
    UNION ALL SELECT place, 3, e.key, e.value FROM ran, json_each(ran.provenance, '$.environment') AS e
    UNION ALL SELECT place, 4, e.key, e.value FROM ran, json_each(ran.provenance, '$.versions') AS e
    UNION ALL SELECT place, 5, e.key, e.value FROM ran, json_each(json_object('host', coalesce(ran.host, runner_host),
        'executor', executor, 'meshsweep', tool_version, 'directory', provenance ->> '$.directory',
        'git commit', provenance ->> '$.git.commit', 'kernel', provenance ->> '$.kernel', 'cpu', provenance ->> '$.cpu')) AS e
    UNION ALL SELECT place, 6, e.key, e.value FROM ran, json_each(json_object('devices', devices, 'model', device_model,
        'note', device_note)) AS e
    UNION ALL SELECT place, 6, substr(e.fullkey, 3), e.atom FROM ran, json_tree(ran.device_condition) AS e WHERE e.atom IS NOT NULL
    UNION ALL SELECT place, 7, e.key, e.value FROM ran, json_each(ran.scripts) AS e
    UNION ALL SELECT value ->> 0, 7, value ->> 1, value ->> 2 FROM json_each(?3)),
list (place, part, name, value) AS (
    SELECT place, part, name, group_concat(value, '; ') FROM (
        SELECT DISTINCT place, part, name, value FROM fact WHERE value IS NOT NULL ORDER BY 1, 2, 3, 4) GROUP BY 1, 2, 3),
apart AS (
    SELECT CASE part WHEN 0 THEN 'job' WHEN 1 THEN 'keys' WHEN 2 THEN 'started as' WHEN 3 THEN 'environment' WHEN 4 THEN 'versions'
            WHEN 5 THEN 'where it ran' WHEN 6 THEN 'devices' ELSE 'files given' END AS title, name,
        max(iif(place = 0, value, NULL)) AS a, max(iif(place = 1, value, NULL)) AS b
    FROM list GROUP BY list.part, name HAVING a IS NOT b ORDER BY list.part, name),

-- The runs of a side that have a value of a metric; the samples of a single one say how sure that is, if it is their
-- middle.
run AS (
    SELECT s.name AS metric, side.place, s.value, iif(coalesce(d.take, 'median') IN ('mean', 'median'), s.stddev, NULL) AS stddev,
        s.count AS samples, coalesce(abs(s.value) < 9e999, 0) AS is_one
    FROM side JOIN job AS j ON j.id = side.job JOIN attempt AS a ON a.job_id = j.id JOIN summary AS s ON s.attempt_id = a.id
    LEFT JOIN metric_definition AS d ON d.name = s.name
    WHERE a.id IN (SELECT id FROM counted_attempt WHERE job_id = j.id UNION ALL
        SELECT j.attempt_id WHERE NOT EXISTS (SELECT 1 FROM counted_attempt WHERE job_id = j.id))),
runs AS MATERIALIZED (
    SELECT metric, place, count(*) FILTER (WHERE is_one) AS n, json_group_array(json(number(value))) FILTER (WHERE is_one) AS list,
        max(stddev) FILTER (WHERE is_one) AS stddev, max(samples) FILTER (WHERE is_one) AS samples FROM run GROUP BY metric, place),
summed AS MATERIALIZED (
    SELECT m.metric, p.place, coalesce(n, 0) AS n, statistic('value', list, stddev, samples) AS value,
        statistic('mean', list, stddev, samples) AS mean, statistic('half', list, stddev, samples) AS half,
        statistic('error', list, stddev, samples) AS error, statistic('freedom', list, stddev, samples) AS freedom
    FROM (SELECT DISTINCT metric FROM runs) AS m CROSS JOIN (SELECT 0 AS place UNION ALL SELECT 1) AS p
    LEFT JOIN runs USING (metric, place)),
side_document (metric, place, document) AS (
    SELECT metric, place, json_object('value', json(number(value)), 'low', json(number(mean - half)),
        'high', json(number(mean + half)), 'runs', n) FROM summed),
figure AS (
    SELECT a.metric, json_object('metric', a.metric, 'unit', nullif(d.unit, ''), 'better', nullif(d.better, ''),
        'first', json(f.document), 'second', json(s.document), 'ratio', json(number(b.value / a.value)),
        'told_apart', json(iif(abs(a.mean - b.mean) > half_width(a.error, a.freedom, b.error, b.freedom, 2), 'true', 'false')))
        AS document
    FROM summed AS a JOIN summed AS b ON b.metric = a.metric AND b.place = 1 JOIN side_document AS f ON f.metric = a.metric AND f.place = 0
    JOIN side_document AS s ON s.metric = a.metric AND s.place = 1 LEFT JOIN metric_definition AS d ON d.name = a.metric
    WHERE a.place = 0 ORDER BY a.metric <> (SELECT objective FROM current_sweep), a.metric)

SELECT json_object('schema_version', 1, 'first_jobs', json(?1), 'second_jobs', json(?2),
    'figures', (SELECT json_group_array(json(document)) FROM figure),
    'apart', (SELECT json_group_array(json_object('part', title, 'what', nullif(name, ''), 'of_first', nullif(a, ''),
        'of_second', nullif(b, ''))) FROM apart)) AS document;
