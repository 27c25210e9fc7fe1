-- Jobs that no other job of the current sweep beats in both the objective and peak memory (the largest process):
-- the choices if memory matters too.
WITH scored AS (
    SELECT j.id AS job, v.value, iif(s.maximise, -v.value, v.value) AS cost, a.max_rss, j.model_id, j.parallel_id
    FROM current_sweep AS s
    JOIN job AS j ON j.sweep_id = s.id AND j.state = 'ok'
    JOIN attempt AS a ON a.id = j.attempt_id AND a.max_rss IS NOT NULL
    JOIN job_metric AS v ON v.job_id = j.id AND v.name = s.objective AND v.value IS NOT NULL
), walked AS (
    SELECT *, min(cost) OVER (PARTITION BY model_id ORDER BY max_rss, cost
                              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best_with_less
    FROM scored
)
SELECT coalesce(m.name, m.json) AS model, w.job, w.value, round(w.max_rss / 1048576.0, 1) AS peak_mib, p.json AS parallel_spec
FROM walked AS w
LEFT JOIN spec AS m ON m.id = w.model_id
LEFT JOIN spec AS p ON p.id = w.parallel_id
WHERE w.best_with_less IS NULL OR w.cost < w.best_with_less
ORDER BY model, w.max_rss;
