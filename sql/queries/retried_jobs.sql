-- Jobs that took more than one attempt, with how each attempt ended.
SELECT job_id AS job, count(*) AS attempts, (SELECT state FROM job WHERE id = job_id) AS now,
       group_concat(coalesce(failure, state), ' > ') AS history, round(sum(duration_ms) / 1000.0, 1) AS seconds
FROM (SELECT * FROM attempt WHERE kind = 'trial' ORDER BY job_id, number)
GROUP BY job_id
HAVING count(*) > 1
ORDER BY attempts DESC, job
LIMIT 100;
