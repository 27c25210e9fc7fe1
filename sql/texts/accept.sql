-- The lines of `meshsweep accept` before it asks, of what it found, ?1 (src/report/saying.h).
WITH
line (part, n, line) AS (
    SELECT 0, 0, say('%d result%s made otherwise than %l says now', ?1 ->> 'results', iif(?1 ->> 'results' = 1, ' was', 's were'),
        ?1 ->> 'file')
    UNION ALL SELECT 1, key, say('  %s%s    was  %l%s    now  %l', value ->> 'what', char(10), coalesce(value ->> 'was', 'none'),
        char(10), coalesce(value ->> 'now', 'none')) FROM json_each(?1, '$.differences')
    UNION ALL SELECT 2, key, say('  job %d: %s -> %s', value ->> 0, substr(value ->> 1, 1, 16), substr(value ->> 2, 1, 16))
        FROM json_each(?1, '$.jobs')
    UNION ALL SELECT 3, 0, say('  … and %d more', more) FROM (SELECT (?1 ->> 'results') - json_array_length(?1, '$.jobs') AS more)
        WHERE more > 0
    UNION ALL SELECT 4, 0, say('%d more have a counterpart with results of its own, which stay', ?1 ->> 'own') WHERE ?1 ->> 'own' > 0)
SELECT line FROM line ORDER BY part, n;
