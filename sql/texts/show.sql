-- The lines of `meshsweep show`: of its document, ?1, and of what stands beside its command, ?2 (src/report/saying.h).
WITH RECURSIVE
field (part, n, k, name, value) AS (
    SELECT 0, 0, id, key, CASE type WHEN 'true' THEN 'yes' WHEN 'false' THEN 'no' ELSE value END FROM json_each(?1)
        WHERE key <> 'schema_version' AND id < (SELECT id FROM json_each(?1) WHERE key = 'keys')
    UNION ALL SELECT 4, a.key, f.id, f.key, f.value FROM json_each(?1, '$.attempts') AS a, json_each(a.value) AS f),
width AS (SELECT part, n, max(length(name)) AS columns FROM field GROUP BY 1, 2),
keys (section, k, name, value) AS (
    SELECT s.id, k.id, k.key, CASE k.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null' THEN 'null'
        WHEN 'real' THEN number(k.value) ELSE k.value END
    FROM json_each(?1, '$.keys') AS s, json_each(s.value) AS k WHERE s.type = 'object'),
heading (part, name) AS (VALUES (3, 'points'), (5, 'given_files'), (6, 'fixtures'), (7, 'left_files'), (9, 'notes')),
metric (n, name, m) AS (SELECT id, key, value FROM json_each(?1, '$.metrics')),
given (n, k, line, rest) AS (
    SELECT key, 0, say('  attempt %d: %p, %d bytes', value ->> 'attempt', value ->> 'name', value ->> 'bytes'), value ->> 'text'
    FROM json_each(?1, '$.given_files')
    UNION ALL SELECT n, k + 1, say('    %p', substr(rest, 1, instr(rest || char(10), char(10)) - 1)),
        substr(rest, instr(rest || char(10), char(10)) + 1) FROM given WHERE k < 40 AND rest <> ''),
line (part, n, k, line) AS (
    VALUES (0, 0, 0, 'job')
    UNION ALL SELECT part, n, k, printf('  %-*s  ', columns, name) || told('', value) FROM field JOIN width USING (part, n)
        WHERE value IS NOT NULL
    UNION ALL SELECT 1, id, 0, char(10) || key FROM json_each(?1, '$.keys') WHERE type = 'object' AND value <> '{}'
    UNION ALL SELECT 1, section, k, told('  ', name) || printf('%*s  ', (SELECT max(length(name)) FROM keys) - length(name), '')
        || told('', value) FROM keys
    UNION ALL SELECT 2, 0, 0, char(10) || iif(EXISTS (SELECT 1 FROM metric), 'metrics', 'metrics: none')
    -- "  throughput  281.5 samples/s, samples 28, mean 276.2, …"; one sample has no more to say.
    UNION ALL SELECT 2, n, 1, told('  ', name) || iif(m ->> 'value' IS NULL AND m ->> 'note' IS NOT NULL,
        told('  none: ', m ->> 'note'), iif(m ->> 'value' IS NULL, '', told('  ', m ->> 'value') || told(' ', m ->> 'unit')
            || told(' ', m ->> 'counter')) || told(', rank ', m ->> 'rank') || told(' at ', m ->> 'point')
        || iif(m ->> 'samples' > 1 OR m ->> 'not_finite',
            told(', samples ', m ->> 'samples') || told(', not_finite ', m ->> 'not_finite'), '')
        || iif(m ->> 'samples' > 1, told(', kept ', m ->> 'kept') || told(', mean ', m ->> 'mean') || told(', median ', m ->> 'median')
            || told(', minimum ', m ->> 'minimum') || told(', maximum ', m ->> 'maximum') || told(', stddev ', m ->> 'stddev')
            || told(', p90 ', m ->> 'p90') || told(', note ', m ->> 'note'), told(', ', m ->> 'note'))) FROM metric
    -- "  throughput at concurrency 16: 1234 tokens/s".
    UNION ALL SELECT 3, key, 1, told('  ', value ->> 'metric') || told(' at ', value ->> 'per') || told(' ', value ->> 'per_value')
        || told(': ', value ->> 'value') || told(' ', value ->> 'unit') FROM json_each(?1, '$.points')
    UNION ALL SELECT 4, key, 0, char(10) || 'attempt' FROM json_each(?1, '$.attempts')
    UNION ALL SELECT 4, 0, 0, char(10) || 'attempts: none' WHERE ?1 ->> '$.attempts[0]' IS NULL
    UNION ALL SELECT 5, n, k, line FROM given
    UNION ALL SELECT 5, n, 41, '    … (all of it: --json)' FROM given WHERE k = 40 AND rest <> ''
    -- "  attempt 1: server {"tp":2}, ended, port 41000, log a/1/output.log: exit status 1".
    UNION ALL SELECT 6, key, 0, told('  attempt ', value ->> 'attempt') || told(': ', value ->> 'name')
        || told(' ', value ->> 'values') || told(', ', value ->> 'state') || told(', port ', value ->> 'port')
        || told(', log ', value ->> 'log') || told(': ', value ->> 'message') FROM json_each(?1, '$.fixtures')
    UNION ALL SELECT 7, key, 0, told('  attempt ', value ->> 'attempt') || told(': ', value ->> 'name')
        || told(', ', value ->> 'bytes') || iif(value ->> 'note' IS NULL, ' bytes', told(' bytes, ', value ->> 'note'))
        FROM json_each(?1, '$.left_files')
    UNION ALL SELECT 8, c.key, 0, say('%s%s at %s', char(10), c.value ->> 'kind', c.value ->> 'at') || told(' by ', c.value ->> 'who')
        || told(', undone at ', c.value ->> 'undone') || told(': ', c.value ->> 'why')
        || coalesce((SELECT group_concat(char(10) || '  ' || told('attempt ', r.value ->> 'attempt')
            || iif(r.value ->> 'attempt' IS NULL, '', ' ') || say('%l: %l -> %l', r.value ->> 'field',
            coalesce(r.value ->> 'was', 'none'), coalesce(r.value ->> 'is', 'none')), '')
            FROM json_each(c.value, '$.replaced') AS r), '') FROM json_each(?1, '$.changes') AS c
    UNION ALL SELECT 9, key, 0, say('  %s ', value ->> 'at') || told('', value ->> 'who') || told(': ', value ->> 'kind')
        || told(' attempt ', value ->> 'attempt') || told(': ', value ->> 'said') FROM json_each(?1, '$.notes')
    UNION ALL SELECT part, -1, 0, char(10) || name FROM heading WHERE ?1 ->> ('$.' || name || '[0]') IS NOT NULL
    UNION ALL SELECT 10, key, 0, say('%sfull training of job %d (attempt %d): %s', char(10), value ->> 'job', value ->> 'attempt',
            value ->> 'state') || iif(value ->> 'failure' IS NULL, '', say(' (%s)', value ->> 'failure'))
        || iif(value ->> 'duration_ms' IS NULL, '', say(' after %t', value ->> 'duration_ms'))
        || iif(value ->> 'message' IS NULL, '', say(': %l', value ->> 'message'))
        || iif(value ->> 'files' IS NULL, '', say('%s  files  %s', char(10), value ->> 'files')) FROM json_each(?1, '$.full_trainings')
    UNION ALL SELECT 11, 0, 0, char(10) || CASE WHEN ?1 ->> 'shell' IS NOT NULL THEN 'command' || char(10) || (?1 ->> 'shell')
        WHEN ?2 ->> 'measured_elsewhere' IS NOT NULL
            THEN say('command: none, it was measured elsewhere (%s)', ?2 ->> 'measured_elsewhere')
        ELSE 'command: not known until the first attempt' END
    UNION ALL SELECT 11, 1, 0, 'secrets are left out; fill them in before you run it: ' || (?2 ->> 'redacted')
        WHERE ?2 ->> 'redacted' IS NOT NULL)
SELECT line FROM line ORDER BY part, n, k;
