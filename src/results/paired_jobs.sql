-- The jobs of the current sweep with their values of the metric ?1 and their derived batch.

SELECT j.id, j.state, m.value,
    coalesce(json_extract(j.derived, '$.global_batch'), json_extract(j.derived, '$.train_batch_size'), ''),
    j.cluster_id, j.model_id, j.training_id, j.parallel_id
FROM job AS j LEFT JOIN job_metric AS m ON m.job_id = j.id AND m.name = ?1
WHERE j.sweep_id = (SELECT id FROM current_sweep) ORDER BY j.id
