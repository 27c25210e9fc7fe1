-- Jobs that differ in nothing but replicate keys are one, with the mean of each objective over those that have all; it
-- goes by the one that is in the middle under the first objective. Names in braces stand for what
-- src/results/configurations.c and measured.h say.

WITH o (position, metric, sign) AS (SELECT 0, objective, iif(maximise, -1.0, 1.0) FROM current_sweep
   UNION ALL SELECT position, metric, iif(maximise, -1.0, 1.0) FROM further_objective
   WHERE sweep_id = (SELECT id FROM current_sweep)),
 {same},
 complete AS MATERIALIZED (SELECT j.id, v.value, min(j.id) OVER w AS first, count(*) OVER w AS replicates,
   row_number() OVER (w ORDER BY v.value, j.id) AS place
   FROM job AS j JOIN job_metric AS v ON v.job_id = j.id AND v.name = (SELECT metric FROM o WHERE position = 0)
   JOIN attempt AS a ON a.id = j.attempt_id
   WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state = 'ok' AND {measured}
   AND (SELECT count(m.value) FROM o JOIN job_metric AS m ON m.job_id = j.id AND m.name = o.metric)
    = (SELECT count(*) FROM o)
   WINDOW w AS (PARTITION BY (SELECT same FROM same WHERE id = j.cluster_id),
    (SELECT same FROM same WHERE id = j.model_id), (SELECT same FROM same WHERE id = j.training_id),
    (SELECT same FROM same WHERE id = j.parallel_id)))
SELECT max(iif(c.place = (c.replicates + 1) / 2, c.id, NULL)), o.sign * avg(m.value)
FROM complete AS c CROSS JOIN o JOIN job_metric AS m ON m.job_id = c.id AND m.name = o.metric
GROUP BY c.first, o.position ORDER BY c.first, o.position
