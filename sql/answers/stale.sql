-- Results that might differ if they were measured again today: the document of `meshsweep stale --json`, and what its
-- text has beside it. ?1: what surrounds the program now, as a runner records it (runner.provenance); ?2: {path: hash}
-- of the files there are now, as an attempt records them (attempt.scripts; "": there is none); ?3: the environment that
-- jobs are given now. What either side does not know is not a difference, unless it is a declared version whose line
-- failed there alone.
WITH
ended AS (
    SELECT id, attempt_id FROM job WHERE sweep_id = (SELECT id FROM current_sweep) AND state IN ('ok', 'failed')),
-- Runners are few: what differs is found of them, then their jobs.
field (path, name) AS (VALUES ('$.git.commit', 'git commit'), ('$.cpu', 'processor'), ('$.gpus.models', 'devices'),
    ('$.gpus.driver', 'driver')),
other AS MATERIALIZED (
    SELECT r.id, f.name, json_extract(r.provenance, f.path) AS was, json_extract(?1, f.path) AS is_now
    FROM runner AS r CROSS JOIN field AS f WHERE was <> is_now
    UNION ALL SELECT r.id, 'version of ' || n.key, coalesce(w.value, ''), coalesce(n.value, '')
    FROM json_each(?1, '$.versions') AS n
    CROSS JOIN runner AS r JOIN json_each(r.provenance, '$.versions') AS w ON w.key = n.key AND w.value IS NOT n.value),
-- The files that commands named when they started.
named (job, path, hash) AS (
    SELECT j.id, k.key, k.value FROM ended AS j CROSS JOIN attempt AS a ON a.id = j.attempt_id, json_each(a.scripts) AS k),
present AS MATERIALIZED (SELECT key AS path, value AS hash FROM json_each(?2)),
difference (job, what, was, is_now) AS MATERIALIZED (
    SELECT job, what, CAST(was AS TEXT), CAST(is_now AS TEXT) FROM (
        SELECT j.id AS job, o.name AS what, o.was, o.is_now FROM other AS o CROSS JOIN attempt AS a ON a.runner_id = o.id
        CROSS JOIN job AS j ON j.id = a.job_id AND j.attempt_id = a.id
        WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state IN ('ok', 'failed')
        UNION ALL SELECT named.job, named.path, named.hash, present.hash FROM named JOIN present USING (path)
        WHERE present.hash <> named.hash)
    ORDER BY job, what),
alike (jobs, job, what, was, is_now) AS MATERIALIZED (
    SELECT count(*), min(job), what, was, is_now FROM difference GROUP BY what, was ORDER BY 2, what),

-- Results that were made otherwise and stand by somebody's decision: no difference that is counted.
let_stand AS MATERIALIZED (
    SELECT change_id, count(*) AS jobs, at, who, why, what FROM accepted WHERE job_id IN (SELECT id FROM ended)
    GROUP BY change_id ORDER BY change_id),

-- How the environment differs from that of the run before, the last one that any result is of. Where there was no such
-- run, or it recorded none of what is asked about now, nothing differs.
before (json) AS MATERIALIZED (
    SELECT json_extract(r.provenance, '$.environment') FROM attempt AS a JOIN ended AS j ON j.attempt_id = a.id
    JOIN runner AS r ON r.id = a.runner_id ORDER BY a.runner_id DESC LIMIT 1),
then_set AS MATERIALIZED (SELECT k.key, k.value FROM before, json_each(before.json) AS k),
now_set AS MATERIALIZED (SELECT k.key, k.value FROM before, json_each(?3) AS k),
variable (name, was, is_now) AS MATERIALIZED (
    SELECT key, w.value, coalesce(n.value, '') FROM then_set AS w LEFT JOIN now_set AS n USING (key)
    WHERE n.value IS NOT w.value
    UNION ALL SELECT n.key, '', n.value FROM now_set AS n LEFT JOIN then_set AS w USING (key) WHERE w.key IS NULL
    ORDER BY 1),
environment (words) AS (
    SELECT (SELECT group_concat(name || ' was ' || coalesce(nullif(was, ''), 'not set') || ', is '
                || coalesce(nullif(is_now, ''), 'not set'), '; ') FROM (SELECT * FROM variable LIMIT 5))
        || iif(count(*) > 5, '; and ' || (count(*) - 5) || ' more', '') FROM variable)

SELECT json_object('schema_version', 1, 'results', (SELECT count(*) FROM ended),
    'stale', (SELECT count(DISTINCT job) FROM difference),
    'differences', (SELECT json_group_array(json_object('job', job, 'what', what, 'was', nullif(was, ''),
        'is', nullif(is_now, ''))) FROM difference),
    'accepted', (SELECT json_group_array(json_object('change', change_id, 'jobs', jobs,
        'at', strftime('%Y-%m-%dT%H:%M:%SZ', at / 1000, 'unixepoch'), 'who', who, 'why', why, 'what', what))
        FROM let_stand)) AS document,
    json_object('alike', (SELECT json_group_array(json_object('jobs', jobs, 'job', job, 'what', what, 'was', nullif(was, ''),
        'is', nullif(is_now, ''))) FROM alike),
    'causes', (SELECT group_concat(what, ', ')
        FROM (SELECT what FROM difference GROUP BY what ORDER BY min(job), what LIMIT 5))) AS beside;
