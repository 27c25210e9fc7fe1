CREATE VIEW current_sweep AS
SELECT * FROM sweep ORDER BY last_seen DESC, id DESC LIMIT 1;
CREATE VIEW progress AS
SELECT iif(j.state = 'running' AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = j.id AND state = 'running'),
           'pending', j.state) AS state, j.failure, count(*) AS jobs
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
