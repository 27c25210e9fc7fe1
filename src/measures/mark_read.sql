-- From now on those attempts of the sweep ?1 are read with the present readers.

UPDATE attempt SET readers = (SELECT value FROM meta WHERE name = 'readers') WHERE id IN
(SELECT a.id FROM meta AS m CROSS JOIN attempt AS a CROSS JOIN job AS j ON j.id = a.job_id
    WHERE m.name = 'readers' AND a.state = 'ok' AND a.executor <> 'import' AND a.kind = 'trial'
        AND (a.readers < m.value OR a.readers > m.value OR a.readers IS NULL) AND j.sweep_id = ?1)
