-- All, pending, running, failed, pruned, held. Each is answered by a partial index: a million jobs that are done need
-- not be read.

SELECT jobs,
       (SELECT count(*) FROM job WHERE sweep_id = ?1 AND state = 'pending' AND witness_id IS NULL AND held IS NULL),
       (SELECT count(*) FROM job WHERE sweep_id = ?1 AND state = 'running'),
       (SELECT count(*) FROM job WHERE sweep_id = ?1 AND state = 'failed'),
       (SELECT count(*) FROM job WHERE witness_id IS NOT NULL AND sweep_id = ?1),
       (SELECT count(*) FROM job WHERE held IS NOT NULL AND witness_id IS NULL AND sweep_id = ?1)
FROM sweep WHERE id = ?1
