CREATE VIEW current_sweep AS
SELECT * FROM sweep ORDER BY last_seen DESC, id DESC LIMIT 1;
CREATE VIEW progress AS
SELECT CASE WHEN j.witness_id IS NOT NULL THEN 'pruned'
            WHEN j.state = 'running' AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = j.id AND state = 'running')
            THEN 'pending' ELSE j.state END AS state, j.failure, count(*) AS jobs
FROM job AS j
WHERE j.sweep_id = (SELECT id FROM current_sweep)
GROUP BY 1, 2;
CREATE VIEW failures AS
SELECT j.id AS job, a.number AS attempt, a.failure, a.message, a.exit_code, a.signal, a.limit_ms, a.duration_ms,
       a.directory, a.log_tail, a.command,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended / 1000, 'unixepoch') AS ended
FROM attempt AS a
JOIN job AS j ON j.id = a.job_id
WHERE a.state = 'failed'
ORDER BY a.ended DESC;
CREATE VIEW excluded AS
SELECT r.name AS rule, r.level, r.excluded, r.alone, r.reason, r.source,
       (SELECT "values" FROM exclusion AS x WHERE x.sweep_id = r.sweep_id AND x.position = r.position LIMIT 1) AS example
FROM rule AS r
WHERE r.sweep_id = (SELECT id FROM current_sweep)
ORDER BY r.position;
CREATE VIEW results AS
SELECT j.id AS job, lower(hex(j.key)) AS key, s.name AS sweep,
       j.sweep_id = (SELECT id FROM current_sweep) AS in_sweep,
       json_extract(cluster_spec.json, '$."num_devices_per_host"') AS "num_devices_per_host",
       json_extract(cluster_spec.json, '$."num_hosts"') AS "num_hosts",
       json_extract(training_spec.json, '$."x"') AS "x",
       json_extract(parallel_spec.json, '$."y"') AS "y",
       CASE WHEN j.witness_id IS NOT NULL THEN 'pruned'
            WHEN j.state = 'running' AND NOT EXISTS
           (SELECT 1 FROM attempt AS r WHERE r.job_id = j.id AND r.state = 'running')
            THEN 'pending' ELSE j.state END AS state, j.failure,
       (SELECT count(*) FROM attempt AS n WHERE n.job_id = j.id AND n.state <> 'claimed') AS attempts,
       (SELECT value FROM summary WHERE attempt_id = a.id AND name = 'score') AS "score",
       a.duration_ms, a.max_rss,
       CASE WHEN j.state = 'failed' THEN
           (SELECT message FROM attempt AS f WHERE f.job_id = j.id AND f.state = 'failed'
            ORDER BY number DESC LIMIT 1)
            WHEN j.witness_id IS NOT NULL THEN
           'needs at least as much device memory as job ' || j.witness_id || ', which ran out of it'
            END AS error,
       a.directory,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.started / 1000, 'unixepoch') AS started,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended / 1000, 'unixepoch') AS ended
FROM job AS j
LEFT JOIN sweep AS s ON s.id = j.sweep_id
LEFT JOIN spec AS cluster_spec ON cluster_spec.id = j.cluster_id
LEFT JOIN spec AS model ON model.id = j.model_id
LEFT JOIN spec AS training_spec ON training_spec.id = j.training_id
LEFT JOIN spec AS parallel_spec ON parallel_spec.id = j.parallel_id
LEFT JOIN attempt AS a ON a.id = j.attempt_id;
CREATE VIEW ranking AS
WITH o AS MATERIALIZED (
    SELECT j.id AS job, m.value AS value, rank() OVER (ORDER BY m.value DESC) AS place
    FROM job AS j CROSS JOIN summary AS m ON m.attempt_id = j.attempt_id AND m.name = 'score'
    WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state = 'ok'
          AND m.value > -9e999 AND m.value < 9e999
          AND (SELECT stopped_steps FROM attempt WHERE id = j.attempt_id) IS NULL
    ORDER BY m.value DESC, j.id)
SELECT o.place AS rank, o.value AS "score", r.job, r.key, r.sweep, r.in_sweep, r."num_devices_per_host", r."num_hosts", r."x", r."y", r.state, r.failure, r.attempts, r.duration_ms, r.max_rss, r.error, r.directory, r.started, r.ended
FROM o CROSS JOIN results AS r ON r.job = o.job;
