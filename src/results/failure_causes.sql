-- The newest ?2 failed jobs of the sweep ?1 in the order of their ids: the job, the place of its cause, of most jobs
-- first, and its cause, whose example is its first job. Told apart are the first ?3 causes; the place of all others is
-- ?3.

WITH failed AS MATERIALIZED (SELECT j.id, j.failure, substr(coalesce(a.message, ''), 1, 2000) AS message, a.consequence,
   cause_text(substr(coalesce(a.message, ''), 1, 2000)) AS cause
   FROM (SELECT id, failure, attempt_id FROM job WHERE sweep_id = ?1 AND state = 'failed' ORDER BY id DESC LIMIT ?2)
   AS j LEFT JOIN attempt AS a ON a.id = j.attempt_id),
 known AS (SELECT failure, cause, min(id) AS first, count(*) AS jobs FROM failed GROUP BY 1, 2 ORDER BY 3 LIMIT ?3),
 placed AS MATERIALIZED (SELECT *, row_number() OVER (ORDER BY jobs DESC, first) - 1 AS place FROM known)
SELECT f.id, coalesce(p.place, ?3), f.failure AS class, f.message, f.consequence, f.cause, p.jobs,
   f.id AS example_job
FROM failed AS f LEFT JOIN placed AS p ON p.failure = f.failure AND p.cause = f.cause ORDER BY f.id
