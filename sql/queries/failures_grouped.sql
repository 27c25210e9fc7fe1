-- Failures, how often each occurs, and an example of each. Only failed jobs, not failed attempts of jobs that succeeded
-- later. `files` are those of the example: SQLite takes a bare column from the row of the minimum.
SELECT j.failure, count(*) AS jobs, a.message, min(j.id) AS example_job, a.directory AS files
FROM job AS j
LEFT JOIN attempt AS a ON a.id = j.attempt_id
WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state = 'failed'
GROUP BY j.failure, a.message
ORDER BY jobs DESC, example_job;
