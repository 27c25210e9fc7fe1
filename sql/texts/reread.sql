-- The lines of `meshsweep reread`, of its document, ?1 (src/report/saying.h).
WITH
unread AS (SELECT key AS n, value AS one, json_array_length(?1, '$.unread') AS number FROM json_each(?1, '$.unread')),
line (part, n, line) AS (
    SELECT 0, 0, say('%d run%s read again, %d changed', ?1 ->> 'attempts_read', iif(?1 ->> 'attempts_read' = 1, '', 's'),
        ?1 ->> 'attempts_changed')
    -- "throughput: 3 values changed, most in job 4 attempt 1 (100 -> 1000); 2 added".
    UNION ALL SELECT 1, key, say('%l: ', value ->> 'metric') || (SELECT group_concat(text, '; ') FROM (
            SELECT say('%d value%s changed, most in job %d attempt %d (%s -> %s)', value ->> 'changed',
                iif(value ->> 'changed' = 1, '', 's'), value ->> 'job', value ->> 'attempt', value ->> 'was', value ->> 'is') AS text
            WHERE value ->> 'changed' > 0
            UNION ALL SELECT say('%d added', value ->> 'added') WHERE value ->> 'added' > 0
            UNION ALL SELECT say('%d left out', value ->> 'lost') WHERE value ->> 'lost' > 0)) FROM json_each(?1, '$.metric_changes')
    UNION ALL SELECT 2, key, say('%s -> %s: ', value ->> 'was', value ->> 'is')
        || iif(value ->> 'attempt_count' > 0, say('%d run%s', value ->> 'attempt_count', iif(value ->> 'attempt_count' = 1, '', 's')), '')
        || iif(value ->> 'attempt_count' > 0 AND value ->> 'jobs' > 0, ', ', '')
        || iif(value ->> 'jobs' > 0, say('%d job%s', value ->> 'jobs', iif(value ->> 'jobs' = 1, '', 's')), '')
        FROM json_each(?1, '$.outcomes')
    UNION ALL SELECT 3, -1, say('%d run%s cannot be read again and %s as before:', number, iif(number = 1, '', 's'),
        iif(number = 1, 'is', 'are')) FROM unread WHERE n = 0
    UNION ALL SELECT 3, n, say('  job %d attempt %d: %l', one ->> 'job', one ->> 'attempt', one ->> 'why') FROM unread WHERE n < 10
    UNION ALL SELECT 3, n, say('  and %d more', number - 10) FROM unread WHERE n = 10
    UNION ALL SELECT 4, 0, iif(?1 ->> 'dry_run', 'nothing was written (--dry-run)', '`meshsweep show JOB` lists what was replaced')
        WHERE ?1 ->> 'dry_run' OR ?1 ->> 'change' > 0)
SELECT line FROM line ORDER BY part, n;
