-- That keys with several values, ?1, reach no part of the command, or where ?2 has jobs, that these were given the same
-- (src/answers/idle_keys.h).
WITH
key AS (SELECT key AS name, value, row_number() OVER () AS n, count(*) OVER () AS keys FROM json_each(?1)),
part AS (
    SELECT *, CASE WHEN n = 1 THEN '' WHEN n = 9 THEN say(' and %d more', keys - 8) WHEN n = keys THEN ' and ' ELSE ', ' END AS before
    FROM key WHERE n < 10 ORDER BY n),
named AS (
    SELECT keys, group_concat(before || iif(n = 9, '', name), '') AS names,
        iif(keys = 1, say('%s has %d values and reaches', name, value), group_concat(before
            || iif(n = 9, '', say('%s (%d values)', name, value)), '') || ' reach') AS counted
    FROM part)

SELECT say('%d jobs were given the same%s: %s reach%s nothing but MESHSWEEP_SPEC', ?2 ->> 'jobs',
    iif(?2 ->> 'different' > 1, say(' as another of them, %d different inputs in all', ?2 ->> 'different'), ''), names,
    iif(keys = 1, 'es', ''))
FROM named WHERE ?2 ->> 'jobs' IS NOT NULL
UNION ALL SELECT say('%s no part of the command: jobs can read %s from MESHSWEEP_SPEC only', counted, iif(keys = 1, 'it', 'them'))
    || coalesce('; ${' || (?2 ->> 'variable') || '} is a variable of the shell: {' || (?2 ->> 'variable') || '} is the key', '')
FROM named WHERE ?2 ->> 'jobs' IS NULL;
