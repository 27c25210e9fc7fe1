-- What no ranking by the metric ?1 has of the current sweep: jobs without a number, and excluded ones. The first are
-- along the index of values, where those without one come first.

WITH lost (jobs, why) AS (SELECT sum(count(*)) OVER (), m.note
   FROM job_metric AS m CROSS JOIN job AS j ON j.id = m.job_id
   WHERE m.name = ?1 AND m.value IS NULL AND m.note IS NOT NULL AND j.state = 'ok' AND j.id NOT IN excluded_job
   AND j.sweep_id = (SELECT id FROM current_sweep) GROUP BY m.note ORDER BY count(*) DESC, m.note LIMIT 1),
 out (jobs, which) AS (SELECT max(n), group_concat('job ' || job_id || ' (' || excluded || ')', ', ')
   || iif(max(n) > 3, ', …', '')
   FROM (SELECT n.job_id, n.excluded, count(*) OVER () AS n FROM job_note AS n JOIN job AS j ON j.id = n.job_id
    WHERE ?1 IS NOT NULL AND n.excluded IS NOT NULL AND j.sweep_id = (SELECT id FROM current_sweep)
    ORDER BY n.job_id LIMIT 3))
SELECT 'not compared: ' || lost.jobs || ' ok job' || iif(lost.jobs = 1, '', 's') || ' without a number: ' || lost.why,
       out.jobs || ' excluded: ' || which,
       coalesce(lost.jobs, 0) AS unranked_jobs, lost.why AS unranked_why, coalesce(out.jobs, 0) AS excluded_jobs
FROM out LEFT JOIN lost
