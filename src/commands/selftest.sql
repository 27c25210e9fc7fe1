-- The content of a finished database of `meshsweep selftest`: its jobs, its attempts, those that were lost, and the
-- first violation of what the sweep should have left, whatever happened to its runners (NULL: none).
WITH question (place, wrong, n) AS (
    SELECT 1, 'jobs that are neither ok nor failed', count(*) FROM job WHERE state NOT IN ('ok', 'failed')
    UNION ALL SELECT 2, 'attempts still open', count(*) FROM attempt WHERE state IN ('claimed', 'running')
    UNION ALL SELECT 3, 'jobs that did not end as designed', count(*) FROM results
        WHERE iif(y % 16 = 5, state <> 'failed' OR failure <> 'exit', state <> 'ok')
    UNION ALL SELECT 4, 'results that are not the job''s number', count(*) FROM results
        WHERE state = 'ok' AND (score IS NOT 1000 * x + y OR half IS NOT 500 * x + y / 2.0)
    UNION ALL SELECT 5, 'results recorded twice', count(*) FROM (
        SELECT 1 FROM attempt WHERE state = 'ok' GROUP BY job_id HAVING count(*) > 1)
    UNION ALL SELECT 6, 'failures recorded twice', count(*) FROM (
        SELECT 1 FROM attempt WHERE failure = 'exit' GROUP BY job_id HAVING count(*) > 1)
    UNION ALL SELECT 7, 'attempts with a failure that nobody caused', count(*) FROM attempt
        WHERE failure NOT IN ('exit', 'lost')
    UNION ALL SELECT 8, 'attempts that are ok without each sample once', count(*) FROM attempt AS a
        WHERE state = 'ok' AND (SELECT count(*) FROM metric WHERE attempt_id = a.id) <> 3
    UNION ALL SELECT 9, 'lost attempts with samples', count(*) FROM metric JOIN attempt AS a ON a.id = attempt_id
        WHERE a.failure = 'lost'
    UNION ALL SELECT 10, 'jobs whose attempts are not numbered from 1 without a gap', count(*) FROM (
        SELECT 1 FROM attempt GROUP BY job_id HAVING max(number) <> count(*) OR min(number) <> 1)
    UNION ALL SELECT 11, 'jobs without any attempt', count(*) FROM job WHERE id NOT IN (SELECT job_id FROM attempt))
SELECT (SELECT count(*) FROM job), (SELECT count(*) FROM attempt),
    (SELECT count(*) FROM attempt WHERE failure = 'lost'),
    (SELECT wrong || ': ' || n FROM question WHERE n > 0 ORDER BY place LIMIT 1);
