-- The lines of `meshsweep stale`: of its document ?1 and of what stands beside it, ?2 (src/report/saying.h).
WITH
alike AS (SELECT key AS n, value AS d, value ->> 'what' AS what FROM json_each(?2, '$.alike')),
line (part, n, line) AS (
    SELECT 0, 0, say('%d of %d result%s %s stale', ?1 ->> 'stale', ?1 ->> 'results',
        iif(?1 ->> 'results' = 1, '', 's'), iif(?1 ->> 'stale' = 1, 'is', 'are'))
    -- A difference, with how many jobs have it.
    UNION ALL SELECT 1, n, say('  %d: %l', d ->> 'jobs', what) || iif(substr(what, 1, 1) = '/',
            iif(d ->> 'is' IS NULL, ' no longer exists', ' has changed since they ran'),
            say(' was %l, is %l', coalesce(d ->> 'was', 'unknown'),
                coalesce(d ->> 'is', 'unknown (its line in [job] versions fails)')))
        || say(' (job %d)', d ->> 'job') FROM alike
    UNION ALL SELECT 2, key, say('  %d accepted by %l at %s although they were made otherwise (change %d)', value ->> 'jobs',
            value ->> 'who', value ->> 'at', value ->> 'change')
        || iif(value ->> 'why' IS NULL, '', say(', %l', value ->> 'why')) || say(': %l', value ->> 'what')
        FROM json_each(?1, '$.accepted')
    UNION ALL SELECT 3, 0, '`meshsweep run --stale` runs them again' WHERE ?1 ->> 'stale' > 0)
SELECT line FROM line ORDER BY part, n;
