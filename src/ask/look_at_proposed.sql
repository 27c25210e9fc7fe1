-- The job of the sweep ?2 with the key ?1: its witness (0: none), whether it has ended, and whether a client asked for
-- it.

SELECT j.id, coalesce(j.witness_id, 0), j.state IN ('ok', 'failed'),
    EXISTS (SELECT 1 FROM trial AS t JOIN search AS s ON s.id = t.search_id
        WHERE t.job_id = j.id AND s.sweep_id = ?2 AND s.strategy = 'ask')
FROM job AS j WHERE j.key = ?1 AND j.sweep_id = ?2
