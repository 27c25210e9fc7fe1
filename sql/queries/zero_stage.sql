-- ZeRO stages side by side for plans that are otherwise equal: one row per model and plan, with the objective at each
-- stage. A failed job shows its failure class, such as 'oom'; a stage that was not tried is empty.
WITH cell AS (
    SELECT j.cluster_id, j.model_id, j.training_id, json_remove(p.json, '$.zero_stage', '$.name', '$.description') AS plan,
           json_extract(p.json, '$.zero_stage') AS stage,
           CASE j.state WHEN 'ok' THEN round(v.value, 3) WHEN 'failed' THEN j.failure ELSE j.state END AS came_to
    FROM current_sweep AS s
    JOIN job AS j ON j.sweep_id = s.id
    JOIN spec AS p ON p.id = j.parallel_id
    LEFT JOIN job_metric AS v ON v.job_id = j.id AND v.name = s.objective
    WHERE json_type(p.json, '$.zero_stage') IS NOT NULL
)
SELECT coalesce(m.name, m.json) AS model, plan, max(iif(stage = 0, came_to, NULL)) AS stage_0,
       max(iif(stage = 1, came_to, NULL)) AS stage_1, max(iif(stage = 2, came_to, NULL)) AS stage_2,
       max(iif(stage = 3, came_to, NULL)) AS stage_3
FROM cell
LEFT JOIN spec AS m ON m.id = cell.model_id
GROUP BY cluster_id, model_id, training_id, plan
ORDER BY model, plan;
