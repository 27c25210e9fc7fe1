-- The lines of `export --format summary` before its tables, and those behind: of the document of the best ?1 (without an
-- objective: no `objective`) and of what stands beside it, ?2, where `failures` are those behind (src/report/saying.h).
WITH
this (several, unit) AS (SELECT coalesce(?2 ->> 'winners', 0) > 1, coalesce(' ' || markdown(?1 ->> 'unit'), '')),
line (part, n, line) AS (
    SELECT 0, 0, '# ' || markdown(?2 ->> 'name') WHERE ?2 ->> 'failures' IS NULL
    UNION ALL SELECT 1, 0, char(10) || iif(?1 ->> 'job' IS NULL, 'No winner: ' || markdown(?1 ->> 'objective')
            || iif(?2 ->> 'nearest' IS NULL, ' has no value in any job that succeeded.', ' is known, but no job meets all conditions.'),
            say('**%s %s%s**', iif(?1 ->> 'better' = 'max', 'Highest', 'Lowest'), markdown(?1 ->> 'objective'), iif(several,
                ' of each group', say(': %r%s', ?1 ->> 'value', unit)))
            || iif(several, '', say(', job %d', ?1 ->> 'job')) || char(10, 10)
            || iif(several, '| group | best | job |' || char(10) || '| --- | --- | --- |', '| key | value |' || char(10) || '| --- | --- |'))
        FROM this WHERE ?1 ->> 'objective' IS NOT NULL
    UNION ALL SELECT 2, key, say('| %s | %r%s | %d |', markdown(value ->> 'group'), value ->> 'value', unit, value ->> 'job')
        FROM this, json_each(?2, '$.groups.groups') WHERE several
    UNION ALL SELECT 2, key, say('| %s | %s |', markdown(value ->> 0), markdown(value ->> 1))
        FROM this, json_each(?2, '$.words') WHERE NOT several
    UNION ALL SELECT 3, 0, ?2 ->> 'code' FROM this WHERE ?2 ->> 'code' IS NOT NULL AND NOT several
    UNION ALL SELECT 4, -1, char(10) || '## Failures' || char(10, 10) || '| failure | jobs | for example | message |' || char(10)
        || '| --- | --- | --- | --- |' WHERE ?2 ->> '$.failures[0]' IS NOT NULL
    UNION ALL SELECT 4, key, say('| %s | %d | job %d | %s |', markdown(value ->> 'class'), value ->> 'jobs', value ->> 'example_job',
        coalesce(markdown(value ->> 'message'), '')) FROM json_each(?2, '$.failures')
    UNION ALL SELECT 5, 0, say('%sand %d of other causes', char(10), ?2 ->> 'others') WHERE ?2 ->> 'others' > 0)
SELECT line FROM line ORDER BY part, n;
