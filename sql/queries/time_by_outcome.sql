-- The use of time: hours and device-hours of all attempts, by how they ended.
SELECT coalesce(a.failure, a.state) AS outcome, count(*) AS attempts,
       round(sum(a.duration_ms) / 3600000.0, 3) AS hours,
       round(sum(1.0 * a.duration_ms * j.devices) / 3600000.0, 3) AS device_hours,
       round(100.0 * sum(a.duration_ms) / (SELECT sum(duration_ms) FROM attempt WHERE kind = 'trial'), 1) AS percent
FROM attempt AS a
JOIN job AS j ON j.id = a.job_id
WHERE a.duration_ms IS NOT NULL AND a.kind = 'trial'
GROUP BY outcome
ORDER BY sum(a.duration_ms) DESC;
