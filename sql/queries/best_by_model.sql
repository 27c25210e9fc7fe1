-- The best job of each model, under the objective of the current sweep.
-- sqlite3 -box results.db < sql/queries/best_by_model.sql
WITH scored AS (
    SELECT j.id AS job, j.model_id, j.parallel_id, v.value,
           rank() OVER (PARTITION BY j.model_id ORDER BY iif(s.maximise, -v.value, v.value), j.id) AS place,
           count(*) OVER (PARTITION BY j.model_id) AS ok_jobs
    FROM current_sweep AS s
    JOIN job AS j ON j.sweep_id = s.id AND j.state = 'ok'
    JOIN job_metric AS v ON v.job_id = j.id AND v.name = s.objective
    WHERE v.value IS NOT NULL
)
SELECT coalesce(m.name, m.json) AS model, (SELECT objective FROM current_sweep) AS objective, x.value, x.job,
       p.json AS parallel_spec, x.ok_jobs
FROM scored AS x
LEFT JOIN spec AS m ON m.id = x.model_id
LEFT JOIN spec AS p ON p.id = x.parallel_id
WHERE x.place = 1
ORDER BY model;
