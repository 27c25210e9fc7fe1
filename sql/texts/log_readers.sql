-- The readers of a log that `meshsweep init` writes, of what was found in it, ?1 (src/draft/log_readers.c): its profile,
-- behind the profile ?2 where there is one, or tables [job.metrics.NAME], each with a comment on how sure it is.
WITH
found AS (
    SELECT key AS n, ?1 ->> 'path' AS path, value ->> 'metric' AS metric, value ->> 'reader' AS reader,
        toml(value ->> 'found_by') AS found_by, value ->> 'unit' AS unit, value ->> 'has_prefix' AS has_prefix,
        value ->> 'take' AS take, value ->> 'better' AS better, value ->> 'is_sure' AS is_sure, value ->> 'lines' AS lines,
        say('%d line%s', value ->> 'lines', iif(value ->> 'lines' = 1, '', 's')) AS counted,
        value ->> 'values' AS numbers, value ->> 'range' AS range, value ->> 'is_of_program' AS is_of_program,
        CASE WHEN value ->> 'is_coloured' THEN 'coloured' WHEN value ->> 'is_mixed' THEN 'mixed'
            WHEN value ->> 'second' THEN 'second' ELSE 'read' END AS kind,
        CASE value ->> 'metric' WHEN 'step_time' THEN 'ms' WHEN 'peak_memory' THEN 'MiB' END AS example
    FROM json_each(?1, '$.proposals')),
read AS (SELECT * FROM found WHERE kind = 'read'),

line (n, k, line) AS (
    SELECT -1, 0, say('# sure: %s %s of %s%s%sprofile = %s', iif(other, 'the second reads', 'it reads'), ?1 ->> 'metrics',
            ?1 ->> 'path', char(10), ?1 ->> 'numbers',
            iif(other, say('["%s", "%s"]', ?2, ?1 ->> 'profile'), say('"%s"', ?1 ->> 'profile')))
        FROM (SELECT coalesce(?2 <> ?1 ->> 'profile', 0) AS other) WHERE ?1 ->> 'profile' IS NOT NULL
    UNION ALL SELECT n, 0, '' FROM found WHERE kind <> 'second'
    UNION ALL SELECT n, 1, say('# not read: %s of %s, in which colours stand; switch them off, perhaps with NO_COLOR=1',
            metric, path)
        FROM found WHERE kind = 'coloured'
    UNION ALL SELECT n, 1, say('# not read: %d lines of %s that name different things%s. If one of them is meant,%s', lines,
            path, numbers, char(10)) || say('# give a pattern of its line: [job.metrics.%s] regex = %s', metric, found_by)
        FROM found WHERE kind = 'mixed'
    UNION ALL SELECT n, 1, say('# or, on %s%s; %s = %s%s%s', counted, numbers, reader, found_by, iif(unit = '', '', '  in '),
            unit)
        FROM found WHERE kind = 'second'
    UNION ALL SELECT n, 1, say('# %s: %s of %s%s%s', iif(is_sure, 'sure', 'likely; please check'), counted, path, numbers,
            range)
        FROM read
    UNION ALL SELECT n, 2, say('[job.metrics.%s]%s%s = %s', metric, char(10), reader, found_by) FROM read
    UNION ALL SELECT n, 3, say('file = %s   # its place in {job_dir}; the job must write it there',
            toml(substr(path, length(rtrim(path, replace(path, '/', ''))) + 1)))
        FROM read WHERE reader = 'csv'
    UNION ALL SELECT n, 4, 'unit = ' || toml(unit) FROM read WHERE unit <> ''
    UNION ALL SELECT n, 5, 'written_unit = true         # '
            || iif(is_of_program, 'the unit behind the number counts', '52.3K is 52300')
        FROM read WHERE has_prefix
    UNION ALL SELECT n, 6, say('means = "other"             # the log names no unit; if it is "%s", write%s'
            || '                            # unit = "%s" instead, and it is compared with the prediction',
            example, char(10), example)
        FROM read WHERE unit = '' AND example IS NOT NULL
    UNION ALL SELECT n, 7, say('better = "%s"%stake = "%s"', better, char(10), take) FROM read
    UNION ALL SELECT n, 8, 'warmup = 2                  # leave out the first samples'
        FROM read WHERE take = 'median' AND lines > 3 AND NOT is_of_program
    UNION ALL SELECT 1e9, 0, CASE WHEN ?1 ->> 'has_decimal_commas' THEN char(10) || '# not read: numbers of '
                || (?1 ->> 'path') || ' with decimal commas; have it print points, perhaps with LC_ALL=C'
            ELSE '# Nothing in ' || (?1 ->> 'path') || ' looks like a step time, throughput, memory or loss. To read a '
                || 'number, give a' || char(10) || '# pattern whose first group matches it:' || char(10)
                || '# [job.metrics.throughput]' || char(10) || '# regex = ''samples/s: ([0-9.]+)''' || char(10)
                || '# better = "max"' END
        WHERE ?1 ->> 'has_decimal_commas' OR (?1 ->> 'profile' IS NULL AND NOT EXISTS (SELECT 1 FROM found)))
SELECT line FROM line ORDER BY n, k;
