-- Takes the value of the objective ?1 from jobs of the sweep ?2 whose last sample of it is not finite; ?3 says why.

UPDATE summary SET value = NULL, note = ?3
WHERE name = ?1 AND not_finite > 0 AND value IS NOT NULL AND attempt_id IN
    (SELECT a.id FROM job AS j JOIN attempt AS a ON a.job_id = j.id
        WHERE j.sweep_id = ?2 AND a.state = 'ok' AND a.kind = 'trial' AND a.executor <> 'import')
    AND (SELECT value FROM (SELECT sequence, value FROM sample AS m
        WHERE m.attempt_id = summary.attempt_id AND m.name = ?1 ORDER BY sequence DESC LIMIT 1)) IS NULL
