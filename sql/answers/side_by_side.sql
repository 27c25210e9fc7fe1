-- The differences of two sets of jobs besides their figures: `apart` of `meshsweep compare JOB JOB --json`. ?1, ?2:
-- their ids as JSON lists; ?3: what their files say (attempt_file), [[0 or 1, "config.yaml: data.lr", "0.1"], …]; NULL:
-- left out. A job is told by the attempt that stands for it, or its newest; several values of a set stand in one text.
WITH
side (place, job) AS MATERIALIZED (
    SELECT 0, value FROM json_each(?1) UNION ALL SELECT 1, value FROM json_each(?2)),
ran AS MATERIALIZED (
    SELECT place, a.*, r.tool_version, r.host AS runner_host, iif(json_valid(r.provenance), r.provenance, '{}') AS provenance
    FROM side JOIN job AS j ON j.id = side.job JOIN attempt AS a ON a.id = coalesce(j.attempt_id,
        (SELECT max(id) FROM attempt WHERE job_id = j.id AND kind = 'trial')) LEFT JOIN runner AS r ON r.id = a.runner_id),
key (place, part, name, value) AS (
    SELECT place, 1, k.key, CASE k.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE k.value END
    FROM side JOIN job AS j ON j.id = side.job JOIN spec AS s ON s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id),
        json_each(s.json) AS k
    UNION ALL SELECT place, 1, k.key, k.value FROM side JOIN job AS j ON j.id = side.job, json_each(j.derived) AS k),
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
        SELECT DISTINCT place, part, name, value FROM fact WHERE value IS NOT NULL ORDER BY 1, 2, 3, 4) GROUP BY 1, 2, 3)
SELECT CASE part WHEN 0 THEN 'job' WHEN 1 THEN 'keys' WHEN 2 THEN 'started as' WHEN 3 THEN 'environment' WHEN 4 THEN 'versions'
           WHEN 5 THEN 'where it ran' WHEN 6 THEN 'devices' ELSE 'files given' END AS part, name,
       max(iif(place = 0, value, NULL)) AS a, max(iif(place = 1, value, NULL)) AS b
FROM list GROUP BY list.part, name HAVING a IS NOT b ORDER BY list.part, name;
