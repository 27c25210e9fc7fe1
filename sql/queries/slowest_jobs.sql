-- The twenty attempts that took longest, and how near they came to their limit.
SELECT a.job_id AS job, a.number AS attempt, round(a.duration_ms / 1000.0, 1) AS seconds,
       round(j.timeout_ms / 1000.0, 1) AS limit_seconds, round(100.0 * a.duration_ms / j.timeout_ms, 1) AS percent,
       a.state, a.failure, coalesce(m.name, m.json) AS model, p.json AS parallel_spec
FROM attempt AS a
JOIN job AS j ON j.id = a.job_id
LEFT JOIN spec AS m ON m.id = j.model_id
LEFT JOIN spec AS p ON p.id = j.parallel_id
WHERE a.duration_ms IS NOT NULL AND a.kind = 'trial'
ORDER BY a.duration_ms DESC, a.id
LIMIT 20;
