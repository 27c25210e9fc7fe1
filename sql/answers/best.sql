-- The winner of the current sweep under its objective and the jobs close to it: the document of `meshsweep best --json`
-- (docs/json.md), and beside it what only the text has, and `groups`: the document where each group has a winner. ?1: the
-- objective; ?2: whether it is to be high; ?3, ?4: the winners of the groups, and the first one with those that are close
-- (sql/answers/ranked.sql); ?5: the Pareto set of several objectives, [{"job", "tie", "values"}, …]; ?6, ?7: whether
-- there are replicates, and groups. The program puts `measured` before these (results/configurations.h), fills in `metrics`,
-- `full_trainings`, `shell`, `secrets_left_out` and `files`, and adds `subject_to` and what stands behind that.
WITH
this (id) AS MATERIALIZED (SELECT id FROM current_sweep),
objective (n, metric, maximise, unit) AS MATERIALIZED (
    SELECT n, metric, maximise, (SELECT nullif(unit, '') FROM metric_definition WHERE name = metric) FROM (
        SELECT 0 AS n, ?1 AS metric, ?2 AS maximise
        UNION ALL SELECT position, metric, maximise FROM further_objective WHERE sweep_id = (SELECT id FROM this))),
winner (n, job) AS (SELECT key, value ->> 'job' FROM json_each(?3)),
close (n, job, value) AS (SELECT key, value ->> 'job', value -> 'value' FROM json_each(?4) WHERE key < 6),

-- The keys of all these jobs, with their values as text and as in the sweep file.
told (job) AS MATERIALIZED (
    SELECT job FROM close UNION SELECT value ->> 'job' FROM json_each(?5)
    UNION SELECT job FROM winner WHERE ?7),
word (job, section, name, type, value, written, part, n) AS (
    SELECT t.job, s.kind, k.key, k.type, k.value, s.json -> k.fullkey,
        CASE s.kind WHEN 'cluster_spec' THEN 0 WHEN 'model' THEN 1 WHEN 'training_spec' THEN 2 ELSE 3 END, k.id
    FROM told AS t JOIN job AS j ON j.id = t.job
    JOIN spec AS s ON s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id), json_each(s.json) AS k
    UNION ALL SELECT t.job, 'derived', k.key, k.type, k.value, j.derived -> k.fullkey, 4, k.id
    FROM told AS t JOIN job AS j ON j.id = t.job, json_each(j.derived) AS k),
key AS MATERIALIZED (
    SELECT *, iif(count(*) OVER (PARTITION BY job, name) = 1, name, section || '.' || name) AS title,
        iif(type = 'text', value, written) AS text, iif(type = 'text', json_quote(value), written) AS json
    FROM word),
-- What differs from the winner.
apart AS MATERIALIZED (
    SELECT k.job, json_group_object(k.section || '.' || k.name, json(k.json)) AS differs,
        json_group_array(json_array(k.title, k.text)) AS words
    FROM (SELECT * FROM key ORDER BY job, part, n) AS k
    LEFT JOIN key AS w ON w.job = (?4 ->> '$[0].job') AND w.section = k.section AND w.name = k.name
    WHERE w.text IS NOT k.text GROUP BY k.job),
-- The keys in which the winners of groups differ.
group_words AS MATERIALIZED (
    SELECT job, json_group_array(json_array(title, text)) AS words FROM (
        SELECT *, count(*) OVER (PARTITION BY section, name, text) AS alike FROM key
        WHERE job IN (SELECT job FROM winner) ORDER BY job, part, n)
    WHERE ?7 AND alike < (SELECT count(*) FROM winner) GROUP BY job),

-- Steps of different global batches do different work. Whether there can be several is seen from the few specs: a
-- million jobs need not be looked at.
batch_of_spec (id, batch) AS NOT MATERIALIZED (
    SELECT id, coalesce(json ->> '$.global_batch', json ->> '$.train_batch_size') FROM spec),
batch_of_job (id, batch) AS NOT MATERIALIZED (
    SELECT j.id, CAST(coalesce(j.derived ->> '$.global_batch', j.derived ->> '$.train_batch_size', t.batch, p.batch) AS INTEGER)
    FROM job AS j LEFT JOIN batch_of_spec AS t ON t.id = j.training_id LEFT JOIN batch_of_spec AS p ON p.id = j.parallel_id),
other_batch (batch) AS (
    SELECT DISTINCT b.batch FROM job_metric AS m JOIN job AS j ON j.id = m.job_id JOIN measured AS a ON a.id = j.attempt_id
    JOIN batch_of_job AS b ON b.id = j.id
    WHERE m.name = ?1 AND m.value IS NOT NULL AND j.state = 'ok' AND j.sweep_id = (SELECT id FROM this)),
batch_notice (sentence) AS (
    SELECT 'the winner''s global batch is ' || w.batch || ', but other jobs have ' || CASE count(b.batch) WHEN 0 THEN NULL
        WHEN 1 THEN min(b.batch) ELSE count(b.batch) || ' others, from ' || min(b.batch) || ' to ' || max(b.batch) END
        || '; to compare at an equal one, use meshsweep results --where'
    FROM close AS c JOIN batch_of_job AS w ON w.id = c.job LEFT JOIN other_batch AS b ON b.batch <> w.batch
    WHERE c.n = 0 AND w.batch IS NOT NULL AND NOT (?6 OR ?7)
        AND ((SELECT count(DISTINCT batch) > 1 FROM batch_of_spec) OR EXISTS (SELECT 1 FROM job WHERE id = c.job
            AND coalesce(derived ->> '$.global_batch', derived ->> '$.train_batch_size') IS NOT NULL))
    GROUP BY c.job),
-- A trial of few steps is measured as asked; what whole runs come to is of other steps.
steps_notice (sentence) AS (
    SELECT 'the winner was ended after ' || steps || ' steps, as its trial asked, but ' || count() || ' other job' || iif(count() > 1, 's', '')
        || ' ran to the end; run --confirm 2 runs the winner, and what comes close, to the end, too'
    FROM (SELECT a.stopped_steps AS steps FROM close AS c JOIN job AS j ON j.id = c.job JOIN attempt AS a ON a.id = j.attempt_id
        WHERE c.n = 0 AND a.stopped_steps IS NOT NULL AND NOT ?7)
    JOIN job AS j ON j.state = 'ok' AND j.sweep_id = (SELECT id FROM this) JOIN measured AS m ON m.id = j.attempt_id
    JOIN attempt AS a ON a.id = m.id
    WHERE a.stopped_steps IS NULL GROUP BY steps)

SELECT json_object('schema_version', 1, 'objective', ?1, 'better', iif(?2, 'max', 'min'), 'unit', o.unit,
        'value', json(c.value), 'job', c.job, 'key', lower(hex(j.key)), 'sweep', nullif(s.name, ''),
        'keys', json_object('cluster_spec', json((SELECT json FROM spec WHERE id = j.cluster_id)),
            'model', json((SELECT json FROM spec WHERE id = j.model_id)),
            'training_spec', json((SELECT json FROM spec WHERE id = j.training_id)),
            'parallel_spec', json((SELECT json FROM spec WHERE id = j.parallel_id)), 'derived', json(j.derived)),
        'devices', j.devices, 'attempt', a.number, 'command', json(coalesce(a.command, '[]')),
        'environment', json(coalesce(a.environment, '{}')),
        'host', nullif(iif(a.executor = 'import', NULL, coalesce(a.host, r.host)), ''),
        'started', strftime('%Y-%m-%dT%H:%M:%SZ', a.started / 1000, 'unixepoch'), 'duration_ms', a.duration_ms,
        'max_rss_bytes', a.max_rss, 'metrics', NULL, 'full_trainings', NULL, 'shell', NULL, 'secrets_left_out', NULL,
        'files', NULL, 'replicates', json(?3 -> '$[0].replicates'),
        'close', (SELECT json_group_array(json_object('job', close.job, 'value', json(value),
            'differs', json(coalesce(differs, '{}'))))
            FROM close LEFT JOIN apart USING (job) WHERE n > 0),
        'pareto', (SELECT json_group_array(json_set(p.value, '$.differs', json(coalesce(differs, '{}'))))
            FROM json_each(?5) AS p LEFT JOIN apart ON apart.job = p.value ->> 'job')) AS document,
    json_object('groups', json_object('schema_version', 1, 'objective', ?1, 'better', iif(?2, 'max', 'min'), 'unit', o.unit,
            'groups', json(?3)),
        'group_words', (SELECT json_group_array(json(coalesce(words, '[]'))) FROM winner LEFT JOIN group_words USING (job)),
        'winners', iif(?7, json_array_length(?3), 0),
        'has_groups', ?7, 'has_replicates', ?6,
        'words', (SELECT json_group_array(json_array(title, text, name)) FROM (
            SELECT * FROM key WHERE job = c.job ORDER BY part, n)),
        'directory', a.directory, 'measured_elsewhere', iif(a.executor = 'import', coalesce(a.log_tail, ''), NULL),
        'close_words', (SELECT json_group_array(json(coalesce(words, '[]')))
            FROM close LEFT JOIN apart USING (job) WHERE n > 0),
        'more', ?4 ->> '$[6]' IS NOT NULL,
        'pareto_words', (SELECT json_group_array(json(coalesce(words, '[]')))
            FROM json_each(?5) AS p LEFT JOIN apart ON apart.job = p.value ->> 'job'),
        'objectives', (SELECT json_group_array(json_object('metric', metric, 'unit', unit, 'maximise', maximise))
            FROM (SELECT * FROM objective ORDER BY n)),
        'incomplete', CASE WHEN ?5 IS NOT NULL THEN (
            SELECT count(*) FROM job AS j JOIN measured AS a ON a.id = j.attempt_id
            WHERE j.sweep_id = (SELECT id FROM this) AND j.state = 'ok' AND EXISTS (SELECT 1 FROM objective AS o
                LEFT JOIN job_metric AS m ON m.job_id = j.id AND m.name = o.metric WHERE m.value IS NULL)) END,
        'batch_notice', coalesce((SELECT sentence FROM steps_notice), (SELECT sentence FROM batch_notice))) AS beside
FROM objective AS o LEFT JOIN close AS c ON c.n = 0 LEFT JOIN job AS j ON j.id = c.job
    LEFT JOIN sweep AS s ON s.id = j.sweep_id LEFT JOIN attempt AS a ON a.id = j.attempt_id
    LEFT JOIN runner AS r ON r.id = a.runner_id
WHERE o.n = 0;
