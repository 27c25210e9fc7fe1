-- The lines of `meshsweep check`: of its document, ?1, and of what stands beside it, ?2 (src/report/saying.h).
WITH
finding (part, n, begin, f) AS (
    SELECT 4, key, 'repaired: ', value FROM json_each(?1, '$.repaired')
    UNION ALL SELECT 5, key, '', value FROM json_each(?1, '$.findings')),
line (part, n, line) AS (
    SELECT 0, 0, say('%s: sweep %s:', ?1 ->> 'sweep_file', ?1 ->> 'sweep') || iif(?1 ->> 'combinations' IS NULL,
        say(' its jobs come from a table (meshsweep import), %d rules', ?2 ->> 'rules'),
        coalesce((SELECT group_concat(say(' %d %s,', value, key), '') FROM json_each(?2, '$.specs')), '')
        || iif(?1 ->> 'candidates' IS NULL, '', say(' %d model candidates,', ?1 ->> 'candidates'))
        || say(' %d combination%s, %d rule%s', ?1 ->> 'combinations', iif(?1 ->> 'combinations' = 1, '', 's'), ?2 ->> 'rules',
            iif(?2 ->> 'rules' = 1, '', 's'))) WHERE ?1 ->> 'sweep' IS NOT NULL
    UNION ALL SELECT 1, 0, (?2 ->> 'idle') || ': these keys do not affect any prediction'
    UNION ALL SELECT 1, 1, (?2 ->> 'unread') || ': predictions do not use these keys'
    UNION ALL SELECT 1, 2, ?2 ->> 'unreached'
    UNION ALL SELECT 2, r.key, say('%s: excludes %d row%s that ran: %s%s ', r.value ->> 'rule', json_array_length(r.value, '$.lines'),
        iif(json_array_length(r.value, '$.lines') = 1, '', 's'), r.value ->> 'reason', char(10))
        || (SELECT group_concat(say(' %s:%d', ?2 ->> 'table', l.value), '') FROM json_each(r.value, '$.lines') AS l)
        FROM json_each(?1, '$.contradicted') AS r
    UNION ALL SELECT 3, 0, say('%s: no rule excludes any of the %d rows that ran', ?2 ->> 'table', ?2 ->> 'rows_ok')
        WHERE ?2 ->> 'table' IS NOT NULL AND ?1 ->> '$.contradicted[0]' IS NULL
    UNION ALL SELECT part, n, say('%s%s (%d): %s%s  %s', begin, f ->> 'what', f ->> 'count', f ->> 'such_as', char(10), f ->> 'advice')
        FROM finding
    UNION ALL SELECT 6, 0, say('%s: all well', ?1 ->> 'database') WHERE ?2 ->> 'all_well')
SELECT line FROM line WHERE line IS NOT NULL ORDER BY part, n;
