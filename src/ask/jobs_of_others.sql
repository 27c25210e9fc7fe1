-- The jobs of the sweep ?1 that run, or that any client was given.

SELECT j.id FROM job AS j WHERE j.sweep_id = ?1 AND (j.state = 'running' OR j.state = 'pending' AND EXISTS
    (SELECT 1 FROM trial AS t JOIN search AS s ON s.id = t.search_id
        WHERE t.job_id = j.id AND t.told IS NULL AND s.strategy = 'ask'))
