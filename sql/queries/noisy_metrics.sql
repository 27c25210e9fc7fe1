-- Measurements that scatter: standard deviation against the mean of one attempt's samples. Measure these longer, or
-- with [job] repeat, before trusting a small difference.
SELECT a.job_id AS job, s.name AS metric, s.count AS samples, round(s.mean, 3) AS mean, round(s.stddev, 3) AS stddev,
       round(100.0 * s.stddev / abs(s.mean), 1) AS percent
FROM summary AS s
JOIN attempt AS a ON a.id = s.attempt_id
JOIN job AS j ON j.attempt_id = a.id
WHERE s.count > 1 AND s.mean <> 0 AND s.stddev > 0
ORDER BY percent DESC
LIMIT 20;
