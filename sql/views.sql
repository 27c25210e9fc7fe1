-- Views for people. `results` and `ranking` have one column per swept key and metric, so the program creates them.

DROP VIEW IF EXISTS failures;
DROP VIEW IF EXISTS excluded;
DROP VIEW IF EXISTS progress;
DROP VIEW IF EXISTS current_sweep;

-- The sweep that was run last.
CREATE VIEW current_sweep AS
SELECT * FROM sweep ORDER BY last_seen DESC, id DESC LIMIT 1;

-- Jobs of the current sweep by state. A job that a runner has claimed but not started is pending; pruned: needs at
-- least as much device memory as a job that ran out of it; held: waits for its host (job.held says why).
CREATE VIEW progress AS
SELECT CASE WHEN j.witness_id IS NOT NULL THEN 'pruned'
            WHEN j.held IS NOT NULL THEN 'held'
            WHEN j.state = 'running' AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = j.id AND state = 'running'
                                                         AND kind = 'trial')
            THEN 'pending' ELSE j.state END AS state, j.failure, count(*) AS jobs
FROM job AS j
WHERE j.sweep_id = (SELECT id FROM current_sweep)
GROUP BY 1, 2;

-- Every failed attempt, newest first, with its reason, its consequences and the end of its output.
CREATE VIEW failures AS
SELECT j.id AS job, a.number AS attempt, a.failure, a.message, a.consequence, a.exit_code, a.signal, a.limit_ms, a.duration_ms,
       a.directory, a.log_tail, a.command,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended / 1000, 'unixepoch') AS ended
FROM attempt AS a
JOIN job AS j ON j.id = a.job_id
WHERE a.state = 'failed' AND a.kind = 'trial'
ORDER BY a.ended DESC;

-- The rules of the current sweep with what each removed, and examples of the values.
CREATE VIEW excluded AS
SELECT r.name AS rule, r.level, r.excluded, r.alone, r.reason, r.source,
       (SELECT "values" FROM exclusion AS x WHERE x.sweep_id = r.sweep_id AND x.position = r.position LIMIT 1) AS example
FROM rule AS r
WHERE r.sweep_id = (SELECT id FROM current_sweep)
ORDER BY r.position;
