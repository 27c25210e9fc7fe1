-- temp.experiment: the jobs of the current sweep as experiments of DeepSpeed's tuner, in their order, without their
-- ds_configs (as written, and without blanks) and names. ?1: the objective.
CREATE TEMP TABLE experiment AS SELECT row_number() OVER (ORDER BY j.rank, j.id) AS n, j.id AS job_id,
    lower(hex(j.key)) AS key, coalesce(json_extract(c.json, '$.num_hosts'), 1) AS nodes,
    coalesce(json_extract(c.json, '$.num_devices_per_host'), 1) AS gpus,
    coalesce(a.directory, substr(lower(hex(j.key)), 1, 16) || '/' || a.number) AS directory, a.command,
    coalesce(a.message || char(10), '') AS message, iif(j.state = 'ok', m.value, NULL) AS value, a.started, a.ended,
    (SELECT json_group_object(s.name, s.value) FROM job_metric AS s WHERE s.job_id = j.id AND s.value IS NOT NULL)
        AS metrics, NULL AS text, NULL AS json, NULL AS stage, NULL AS name
FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id LEFT JOIN spec AS c ON c.id = j.cluster_id
LEFT JOIN job_metric AS m ON m.job_id = j.id AND m.name = ?1
WHERE j.sweep_id = (SELECT id FROM current_sweep)
