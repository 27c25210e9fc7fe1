-- The jobs of the sweep ?1 that have ended, with what they measured of the metric ?2.

SELECT j.id, j.key, j.failure, coalesce(j.attempt_id, 0), j.devices, a.duration_ms, s.value,
    j.cluster_id, j.model_id, j.training_id, j.parallel_id
FROM job AS j LEFT JOIN attempt AS a ON a.id = j.attempt_id
    LEFT JOIN job_metric AS s ON s.job_id = j.id AND s.name = ?2
WHERE j.sweep_id = ?1 AND j.state IN ('ok', 'failed') AND j.id NOT IN excluded_job
ORDER BY j.rank, j.id
