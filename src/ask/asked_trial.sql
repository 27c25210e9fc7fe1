-- The trial ?1 as clients are told of it: the last four members once its outcome is known.

SELECT t.id AS trial, j.id AS job, lower(hex(j.key)) AS key,
    json_object('cluster_spec', json((SELECT json FROM spec WHERE id = j.cluster_id)),
        'model', json((SELECT json FROM spec WHERE id = j.model_id)),
        'training_spec', json((SELECT json FROM spec WHERE id = j.training_id)),
        'parallel_spec', json((SELECT json FROM spec WHERE id = j.parallel_id)), 'derived', json(j.derived)) AS keys,
    json_extract(s.options, '$.by') AS by, t.reason AS why, j.predicted_memory AS predicted_memory_bytes,
    j.predicted_time AS predicted_step_time_s, t.outcome, t.failure, t.objective AS objective_value,
    (SELECT group_concat(c.condition, '; ') FROM breach AS b JOIN subject_to AS c ON c.position = b.position
        WHERE b.attempt_id = j.attempt_id AND t.told IS NOT NULL) AS does_not_meet
FROM trial AS t JOIN search AS s ON s.id = t.search_id JOIN job AS j ON j.id = t.job_id WHERE t.id = ?1
