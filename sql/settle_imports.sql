-- Brings the jobs in temp.imported_job, of which rows of tables were put in or taken out, to where their attempts lead. The
-- temporary tables are src/store/imports.c's or sql/merge.sql's, and go at the end.
--
-- Those that only tables asked for (their sweep is in temp.imported_sweep) go with their last attempt; others are pending
-- again without one.

DELETE FROM main.job WHERE id IN temp.imported_job AND state = 'pending' AND sweep_id IN temp.imported_sweep
                           AND NOT EXISTS (SELECT 1 FROM main.attempt WHERE job_id = main.job.id);
DELETE FROM temp.imported_job WHERE NOT EXISTS (SELECT 1 FROM main.attempt WHERE job_id = imported_job.id);

-- One that has rows of another sweep alone is that one's.
UPDATE main.job SET sweep_id = t.sweep_id
FROM main.attempt AS a JOIN main.imported_table AS t ON t.id = a.table_id
WHERE a.job_id = main.job.id AND main.job.id IN temp.imported_job AND t.sweep_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM main.attempt AS o LEFT JOIN main.imported_table AS u ON u.id = o.table_id
                      WHERE o.job_id = main.job.id AND (o.table_id IS NULL OR u.sweep_id = main.job.sweep_id));

-- The steps by which a job may go (src/store/states.h): done or failed, pending, running, done or failed.
UPDATE main.job SET state = 'pending', failure = NULL WHERE state IN ('ok', 'failed') AND id IN temp.imported_job;
UPDATE main.job SET state = 'running' WHERE state = 'pending' AND id IN temp.imported_job;
-- Most have a single attempt: of a million jobs the general way takes minutes.
UPDATE main.job SET state = 'ok', attempt_id = (SELECT id FROM main.attempt WHERE job_id = main.job.id)
WHERE state = 'running' AND id IN temp.imported_job AND id NOT IN (SELECT job_id FROM main.note)
      AND (SELECT count(*) = 1 AND min(state = 'ok' AND superseded IS NULL AND kind = 'trial')
           FROM main.attempt WHERE job_id = main.job.id);
UPDATE main.job SET state = 'failed', (failure, attempt_id) =
    (SELECT failure, id FROM main.attempt WHERE job_id = main.job.id AND state = 'failed' AND kind = 'trial' ORDER BY number DESC LIMIT 1)
WHERE state = 'running' AND id IN temp.imported_job AND NOT EXISTS
      (SELECT 1 FROM main.attempt WHERE job_id = main.job.id AND state = 'ok' AND superseded IS NULL AND kind = 'trial');

-- The attempt that stands for the job, as in src/store/jobs.h; where notes exclude all that are ok, the last of these.
UPDATE main.job SET state = 'ok', attempt_id = coalesce(
    (SELECT id FROM
        (SELECT c.id, max(1, count(s.value) OVER ()) AS n,
                row_number() OVER (ORDER BY s.value IS NULL, s.value, c.id) AS place
         FROM main.counted_attempt AS c LEFT JOIN main.summary AS s ON s.attempt_id = c.id
              AND s.name = (SELECT objective FROM main.sweep WHERE id = main.job.sweep_id)
         WHERE c.job_id = main.job.id)
     WHERE place = (n + 1) / 2),
    (SELECT max(id) FROM main.attempt WHERE job_id = main.job.id AND state = 'ok' AND superseded IS NULL AND kind = 'trial'))
WHERE state = 'running' AND id IN temp.imported_job;

DELETE FROM main.sweep WHERE id IN temp.imported_sweep AND NOT EXISTS (SELECT 1 FROM main.job WHERE sweep_id = main.sweep.id)
    AND NOT EXISTS (SELECT 1 FROM main.imported_table AS t JOIN main.attempt AS a ON a.table_id = t.id
                    WHERE t.sweep_id = main.sweep.id);
DROP TABLE temp.imported_job;
DROP TABLE temp.imported_sweep;
DROP TABLE temp.removed_attempt;
