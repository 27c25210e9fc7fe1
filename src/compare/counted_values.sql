-- The jobs of the current sweep with each value of the metric ?1 that counts: of attempts that were measured to their
-- end (results/measured.h). A row per successful attempt, or one for the job.

SELECT j.key, j.id, j.state = 'ok', v.value,
    EXISTS (SELECT 1 FROM breach WHERE breach.attempt_id = j.attempt_id)
FROM job AS j LEFT JOIN counted_attempt AS c ON c.job_id = j.id
    LEFT JOIN attempt AS a ON a.id = c.id AND (a.stopped_steps IS NULL OR EXISTS (SELECT 1 FROM trial AS asked
        WHERE asked.job_id = a.job_id AND asked.attempt_id = a.id AND asked.resource > 0
            AND a.stopped_steps >= asked.resource))
    LEFT JOIN summary AS v ON v.attempt_id = a.id AND v.name = ?1
WHERE j.sweep_id = (SELECT id FROM current_sweep) ORDER BY j.key, a.number
