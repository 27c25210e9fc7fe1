-- Noisy measurements: how far the samples of one attempt are from a smooth curve, relative to their mean. Measure these
-- longer, or with [job] repeat, before you trust a small difference. Second differences are used, so the trend of a loss
-- does not count as noise (a straight line has none; independent noise has 6 times its variance in their squares). Warm-up is left out.
WITH placed AS (
    SELECT m.attempt_id, m.name, m.value, row_number() OVER course AS place, lag(m.value) OVER course AS before,
           lag(m.value, 2) OVER course AS earlier
    FROM (SELECT s.* FROM job AS j JOIN sample AS s ON s.attempt_id = j.attempt_id) AS m
    WHERE m.value IS NOT NULL
    WINDOW course AS (PARTITION BY m.attempt_id, m.name ORDER BY m.sequence)
),
scatter AS (
    SELECT s.attempt_id, s.name, sqrt(avg((value - 2 * before + earlier) * (value - 2 * before + earlier)) / 6) AS noise
    FROM placed AS s
    LEFT JOIN metric_definition AS d ON d.name = s.name
    WHERE place > coalesce(d.warmup, 0) + 2
    GROUP BY 1, 2
)
SELECT a.job_id AS job, s.name AS metric, s.count AS samples, round(s.mean, 3) AS mean, round(c.noise, 3) AS noise,
       round(100.0 * c.noise / abs(s.mean), 1) AS percent
FROM summary AS s
JOIN attempt AS a ON a.id = s.attempt_id
JOIN job AS j ON j.attempt_id = a.id
JOIN scatter AS c ON c.attempt_id = s.attempt_id AND c.name = s.name
WHERE s.mean <> 0 AND c.noise > 0 AND a.id NOT IN (SELECT attempt_id FROM excluded_attempt)
ORDER BY percent DESC
LIMIT 20;
