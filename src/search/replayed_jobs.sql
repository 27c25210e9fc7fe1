-- The jobs of the sweep ?1 that have ended, with what they measured of the metric ?2, device-seconds, place (0: of a
-- table), and how many others there are.

SELECT j.id, j.key, j.failure, coalesce(j.attempt_id, 0), a.duration_ms / 1000.0 * j.devices, s.value,
    iif(EXISTS (SELECT 1 FROM imported_table WHERE sweep_id = ?1), 0, row_number() OVER (ORDER BY j.rank, j.id)),
    (SELECT count(*) FROM job WHERE sweep_id = ?1) - count(*) OVER (),
    j.cluster_id, j.model_id, j.training_id, j.parallel_id
FROM job AS j LEFT JOIN attempt AS a ON a.id = j.attempt_id
    LEFT JOIN job_metric AS s ON s.job_id = j.id AND s.name = ?2
WHERE j.sweep_id = ?1 AND j.state IN ('ok', 'failed') AND j.id NOT IN excluded_job
ORDER BY j.rank, j.id
