-- For each model and plan, the largest micro-batch that ran and the smallest that ran out of memory.
WITH tried AS (
    SELECT j.cluster_id, j.model_id, j.training_id, json_remove(p.json, '$.micro_batch', '$.name', '$.description') AS plan,
           json_extract(p.json, '$.micro_batch') AS micro_batch, j.state, j.failure
    FROM job AS j
    JOIN spec AS p ON p.id = j.parallel_id
    WHERE j.sweep_id = (SELECT id FROM current_sweep) AND json_type(p.json, '$.micro_batch') IS NOT NULL
)
SELECT coalesce(m.name, m.json) AS model, plan, max(iif(state = 'ok', micro_batch, NULL)) AS largest_that_ran,
       min(iif(failure IN ('oom', 'oom-host'), micro_batch, NULL)) AS smallest_out_of_memory,
       sum(state NOT IN ('ok', 'failed')) AS not_tried_yet
FROM tried
LEFT JOIN spec AS m ON m.id = tried.model_id
GROUP BY cluster_id, model_id, training_id, plan
ORDER BY model, plan;
