-- The metrics that the file of the sweep ?1 reads and of which attempts read with other readers have no number.

INSERT INTO temp.renewal SELECT a.id, d.name, 0, 0, 1, NULL, d.definition_id, NULL, 0
FROM meta AS m CROSS JOIN attempt AS a CROSS JOIN job AS j ON j.id = a.job_id
    CROSS JOIN metric_definition AS d JOIN definition AS x ON x.id = d.definition_id
WHERE m.name = 'readers' AND a.state = 'ok' AND a.executor <> 'import' AND a.kind = 'trial'
    AND (a.readers < m.value OR a.readers > m.value OR a.readers IS NULL) AND j.sweep_id = ?1 AND x.reading IS NOT NULL
    AND d.declared = (SELECT last_seen FROM sweep WHERE id = ?1)
    AND NOT EXISTS (SELECT 1 FROM summary WHERE attempt_id = a.id AND name = d.name
        AND (reported > 0 OR note IS NOT NULL AND reported = 0))
