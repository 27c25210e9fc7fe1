-- The rows of results.db for Optuna's tables: a temporary view for each, of its name and with its columns in their
-- order (sql/optuna.sql). temp.exported holds the jobs that are wanted, temp.to_its_end the attempts that measured all
-- that was asked of them. Trials are told to samplers as they are: only what was tried is one.

-- A study for each sweep that says what it optimises, the newest one of a name under that name.
CREATE TEMP TABLE study AS
SELECT row_number() OVER (ORDER BY s.last_seen DESC, s.id DESC) AS id, s.id AS sweep_id,
       iif(row_number() OVER (PARTITION BY s.name ORDER BY s.last_seen DESC, s.id DESC) = 1, s.name,
           s.name || ' (sweep ' || s.id || ')') AS name
FROM main.sweep AS s
WHERE s.role IS NULL AND s.objective IS NOT NULL
      AND EXISTS (SELECT 1 FROM main.job AS j WHERE j.sweep_id = s.id AND j.id IN (SELECT job FROM temp.exported));

CREATE TEMP TABLE objective AS
SELECT t.id AS study, 0 AS number, s.objective AS metric, s.maximise
FROM temp.study AS t JOIN main.sweep AS s ON s.id = t.sweep_id
UNION ALL
SELECT t.id, f.position, f.metric, f.maximise
FROM temp.study AS t JOIN main.further_objective AS f ON f.sweep_id = t.sweep_id;

-- The attempt that a job's trial is about: the one that runs, else the one that stands for it. Neither is there for a job
-- that waits (no trial) or was pruned by another that ran out of memory, at which moment it ended.
CREATE TEMP TABLE tried AS
SELECT t.id AS study, j.id AS job, j.state, j.witness_id,
       iif(j.state = 'running', (SELECT max(r.id) FROM main.attempt AS r WHERE r.job_id = j.id AND r.state = 'running'
                                AND r.kind = 'trial'),
           j.attempt_id) AS attempt
FROM temp.study AS t JOIN main.job AS j ON j.sweep_id = t.sweep_id
WHERE j.id IN (SELECT job FROM temp.exported);

-- Times that an import does not have are those of the import.
CREATE TEMP TABLE optuna_trial AS
SELECT row_number() OVER (ORDER BY study, started, job) AS id,
       row_number() OVER (PARTITION BY study ORDER BY started, job) - 1 AS number,
       study, job, attempt, state, started, iif(state = 'RUNNING', NULL, ended) AS ended
FROM (SELECT t.study, t.job, iif(t.witness_id IS NULL, a.id, NULL) AS attempt,
             CASE WHEN t.witness_id IS NOT NULL THEN 'PRUNED'
                  WHEN t.state = 'running' THEN 'RUNNING'
                  WHEN t.state = 'failed' THEN 'FAIL'
                  WHEN a.id NOT IN (SELECT attempt FROM temp.to_its_end) THEN 'PRUNED'
                  WHEN EXISTS (SELECT 1 FROM temp.objective AS o
                               WHERE o.study = t.study
                                     AND (SELECT value FROM main.job_metric WHERE job_id = t.job AND name = o.metric) IS NULL)
                  THEN 'FAIL' ELSE 'COMPLETE' END AS state,
             iif(t.witness_id IS NULL, coalesce(a.started, r.started), coalesce(a.ended, r.started)) AS started,
             coalesce(a.ended, a.started, r.started) AS ended
      FROM temp.tried AS t
      JOIN main.attempt AS a ON a.id = coalesce((SELECT attempt_id FROM main.job WHERE id = t.witness_id), t.attempt)
      JOIN main.runner AS r ON r.id = a.runner_id
      WHERE t.witness_id IS NOT NULL OR t.state <> 'pending');
CREATE UNIQUE INDEX temp.optuna_trial_job ON optuna_trial (job);

-- The values of keys of a sweep's specs, all of them, also of jobs that are not exported: they are what may be proposed.
CREATE TEMP TABLE spec_value AS
SELECT u.study, u.spec, s.kind, k.key, CASE WHEN k.type IN ('array', 'object') THEN '' || k.value ELSE k.value END AS value,
       CASE k.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null' THEN 'null'
                   WHEN 'integer' THEN '' || k.value
                   WHEN 'real' THEN iif(CAST(json_quote(k.value) AS REAL) = k.value, json_quote(k.value),
                                        printf('%!.17g', k.value))
                   ELSE json_quote('' || k.value) END AS json
FROM (SELECT t.id AS study, j.cluster_id AS spec FROM temp.study AS t JOIN main.job AS j ON j.sweep_id = t.sweep_id
      UNION SELECT t.id, j.model_id FROM temp.study AS t JOIN main.job AS j ON j.sweep_id = t.sweep_id
      UNION SELECT t.id, j.training_id FROM temp.study AS t JOIN main.job AS j ON j.sweep_id = t.sweep_id
      UNION SELECT t.id, j.parallel_id FROM temp.study AS t JOIN main.job AS j ON j.sweep_id = t.sweep_id) AS u
JOIN main.spec AS s ON s.id = u.spec, json_each(s.json) AS k;
CREATE INDEX temp.spec_value_spec ON spec_value (study, spec);

CREATE TEMP TABLE choice AS
SELECT study, kind, key, json, row_number() OVER (PARTITION BY study, kind, key ORDER BY value, json) - 1 AS place
FROM (SELECT DISTINCT study, kind, key, value, json FROM temp.spec_value);
CREATE UNIQUE INDEX temp.choice_json ON choice (study, kind, key, json);

-- Keys that have one value in all specs of their kind are no parameters: see the study's user attributes.
CREATE TEMP TABLE parameter AS
SELECT c.study, c.kind, c.key,
       iif((SELECT count(DISTINCT o.kind) FROM temp.choice AS o WHERE o.study = c.study AND o.key = c.key) = 1, c.key,
           c.kind || '.' || c.key) AS name,
       '{"name": "CategoricalDistribution", "attributes": {"choices": [' || c.choices || ']}}' AS distribution,
       c.count > 1 OR (SELECT count(*) FROM temp.spec_value AS v WHERE v.study = c.study AND v.kind = c.kind AND v.key = c.key)
                       < (SELECT count(DISTINCT v.spec) FROM temp.spec_value AS v WHERE v.study = c.study AND v.kind = c.kind)
       AS varies
FROM (SELECT DISTINCT study, kind, key, group_concat(json, ', ') OVER whole AS choices, count(*) OVER whole AS count
      FROM temp.choice
      WINDOW whole AS (PARTITION BY study, kind, key ORDER BY place
                       ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) AS c;
CREATE UNIQUE INDEX temp.parameter_key ON parameter (study, kind, key);

-- --- the views ---

CREATE TEMP VIEW studies AS SELECT id, name FROM temp.study;

CREATE TEMP VIEW study_directions AS
SELECT NULL, iif(maximise, 'MAXIMIZE', 'MINIMIZE'), study, number FROM temp.objective;

CREATE TEMP VIEW study_user_attributes AS
SELECT NULL, t.id, k.key, k.value
FROM temp.study AS t JOIN main.sweep AS s ON s.id = t.sweep_id,
     (SELECT 'objectives' AS key, o.study, json_group_array(o.metric) AS value FROM temp.objective AS o GROUP BY o.study
      UNION ALL
      SELECT 'constants', p.study, '{' || group_concat(json_quote(p.name) || ': ' || c.json, ', ') || '}'
      FROM temp.parameter AS p JOIN temp.choice AS c USING (study, kind, key) WHERE NOT p.varies GROUP BY p.study
      UNION ALL
      SELECT 'sweep_file', n.id, json_quote(f.text) FROM temp.study AS n JOIN main.sweep AS f ON f.id = n.sweep_id
      UNION ALL
      SELECT 'meshsweep', n.id, json_quote(f.tool_version)
      FROM temp.study AS n JOIN main.sweep AS f ON f.id = n.sweep_id) AS k
WHERE k.study = t.id;

-- Optuna's times are local and without a zone.
CREATE TEMP VIEW trials AS
SELECT id, number, study, state,
       strftime('%Y-%m-%d %H:%M:%f000', started / 1000.0, 'unixepoch', 'localtime'),
       strftime('%Y-%m-%d %H:%M:%f000', ended / 1000.0, 'unixepoch', 'localtime')
FROM temp.optuna_trial;

CREATE TEMP VIEW trial_user_attributes AS
SELECT NULL, t.id, 'job', t.job FROM temp.optuna_trial AS t
UNION ALL SELECT NULL, t.id, 'key', json_quote(lower(hex(j.key))) FROM temp.optuna_trial AS t JOIN main.job AS j ON j.id = t.job
UNION ALL SELECT NULL, t.id, 'command', a.command
FROM temp.optuna_trial AS t JOIN main.attempt AS a ON a.id = t.attempt WHERE a.command IS NOT NULL
UNION ALL SELECT NULL, t.id, 'failure', json_quote(a.failure)
FROM temp.optuna_trial AS t JOIN main.attempt AS a ON a.id = t.attempt WHERE a.failure IS NOT NULL
UNION ALL SELECT NULL, t.id, 'message', json_quote(a.message)
FROM temp.optuna_trial AS t JOIN main.attempt AS a ON a.id = t.attempt WHERE a.message IS NOT NULL
UNION ALL SELECT NULL, t.id, 'pruned_by_job', j.witness_id
FROM temp.optuna_trial AS t JOIN main.job AS j ON j.id = t.job WHERE j.witness_id IS NOT NULL
UNION ALL SELECT NULL, t.id, 'metric.' || s.name,
                 coalesce(iif(CAST(json_quote(s.value) AS REAL) = s.value, json_quote(s.value), printf('%!.17g', s.value)),
                          'null')
FROM temp.optuna_trial AS t JOIN main.job_metric AS s ON s.job_id = t.job;

-- The miss of a condition of [sweep] subject_to, as samplers with constraints read it: positive is not met.
CREATE TEMP VIEW trial_system_attributes AS
SELECT DISTINCT NULL, id, 'constraints',
       json_group_array(missed) OVER (PARTITION BY id ORDER BY position
                                      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
FROM (SELECT t.id, c.position, iif(b.attempt_id IS NULL, 0.0, coalesce(nullif(b.excess, 0.0), 1.0)) AS missed
      FROM temp.optuna_trial AS t JOIN temp.study AS n ON n.id = t.study CROSS JOIN main.subject_to AS c
      LEFT JOIN main.breach AS b ON b.attempt_id = t.attempt AND b.position = c.position
      WHERE t.state = 'COMPLETE' AND n.sweep_id = (SELECT id FROM main.current_sweep));

CREATE TEMP VIEW trial_params AS
SELECT NULL, t.id, p.name, c.place, p.distribution
FROM temp.optuna_trial AS t JOIN main.job AS j ON j.id = t.job
JOIN temp.spec_value AS v ON v.study = t.study AND v.spec IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id)
JOIN temp.parameter AS p ON p.study = v.study AND p.kind = v.kind AND p.key = v.key AND p.varies
JOIN temp.choice AS c ON c.study = v.study AND c.kind = v.kind AND c.key = v.key AND c.json = v.json;

CREATE TEMP VIEW trial_values AS
SELECT NULL, t.id, o.number, s.value, 'FINITE'
FROM temp.optuna_trial AS t JOIN temp.objective AS o ON o.study = t.study
JOIN main.job_metric AS s ON s.job_id = t.job AND s.name = o.metric
WHERE t.state = 'COMPLETE';

-- The last value of a step that was reported again counts. Which of NaN and the infinities it was is not recorded.
CREATE TEMP VIEW trial_intermediate_values AS
SELECT NULL, trial, step, value, iif(value IS NULL, 'NAN', 'FINITE')
FROM (SELECT t.id AS trial, coalesce(m.step, m.sequence) AS step, m.value,
             row_number() OVER (PARTITION BY t.id, coalesce(m.step, m.sequence) ORDER BY m.sequence DESC) AS back
      FROM temp.optuna_trial AS t JOIN temp.objective AS o ON o.study = t.study AND o.number = 0
      JOIN main.sample AS m ON m.attempt_id = t.attempt AND m.name = o.metric
      JOIN main.job_metric AS v ON v.job_id = t.job AND v.name = o.metric AND v.value IS NOT NULL)
WHERE back = 1;
