-- The lines of `export --format summary` before its tables, and those behind: of the document of the best ?1 (without an
-- objective: no `objective`) and of what stands beside it, ?2, where `failures` are those behind (src/report/saying.h).
WITH
line (part, n, line) AS (
    SELECT 0, 0, '# ' || markdown(?2 ->> 'name') WHERE ?2 ->> 'failures' IS NULL
    UNION ALL SELECT 1, 0, char(10) || iif(?1 ->> 'job' IS NULL, 'No winner: ' || markdown(?1 ->> 'objective')
            || iif(?2 ->> 'nearest' IS NULL, ' has no value in any job that succeeded.', ' is known, but no job meets all conditions.'),
            say('**%s %s: %r%s**, job %d%s| key | value |%s| --- | --- |', iif(?1 ->> 'better' = 'max', 'Highest', 'Lowest'),
                markdown(?1 ->> 'objective'), ?1 ->> 'value', coalesce(' ' || markdown(?1 ->> 'unit'), ''), ?1 ->> 'job',
                char(10, 10), char(10)))
        WHERE ?1 ->> 'objective' IS NOT NULL
    UNION ALL SELECT 2, key, say('| %s | %s |', markdown(value ->> 0), markdown(value ->> 1)) FROM json_each(?2, '$.words')
    UNION ALL SELECT 3, 0, ?2 ->> 'code' WHERE ?2 ->> 'code' IS NOT NULL
    UNION ALL SELECT 4, -1, char(10) || '## Failures' || char(10, 10) || '| failure | jobs | for example | message |' || char(10)
        || '| --- | --- | --- | --- |' WHERE ?2 ->> '$.failures[0]' IS NOT NULL
    UNION ALL SELECT 4, key, say('| %s | %d | job %d | %s |', markdown(value ->> 'class'), value ->> 'jobs', value ->> 'example_job',
        coalesce(markdown(value ->> 'message'), '')) FROM json_each(?2, '$.failures')
    UNION ALL SELECT 5, 0, say('%sand %d of other causes', char(10), ?2 ->> 'others') WHERE ?2 ->> 'others' > 0)
SELECT line FROM line ORDER BY part, n;
