-- The newest ?2 failed jobs of the sweep ?1 in the order of their ids: the job, the place of its cause, of most jobs
-- first, and of the first job of each cause, its example, all that is said of it. Told apart are the first ?3 causes;
-- the place of all others is ?3. Windows, for SQLite would compare each job with all causes to join them.

WITH failed AS (SELECT j.id, j.failure, a.id AS attempt,
   cause_text(substr(coalesce(a.message, ''), 1, 2000)) AS cause
   FROM (SELECT id, failure, attempt_id FROM job WHERE sweep_id = ?1 AND state = 'failed' ORDER BY id DESC LIMIT ?2)
   AS j LEFT JOIN attempt AS a ON a.id = j.attempt_id),
 grouped AS (SELECT *, min(id) OVER same AS first, count(*) OVER same AS jobs FROM failed
   WINDOW same AS (PARTITION BY failure, cause)),
 numbered AS (SELECT *, dense_rank() OVER (ORDER BY first) > ?3 AS other FROM grouped),
 placed AS (SELECT *, dense_rank() OVER (PARTITION BY other ORDER BY jobs DESC, first) - 1 AS place FROM numbered)
SELECT p.id, iif(other, ?3, place), p.failure AS class, substr(coalesce(a.message, ''), 1, 2000) AS message,
   a.consequence, p.cause, p.jobs, p.id AS example_job
FROM placed AS p LEFT JOIN attempt AS a ON a.id = p.attempt AND p.id = p.first ORDER BY p.id
