-- The sweep file that `meshsweep init` writes for a command, of what is known of it, ?1 (src/draft/new_sweep.c).
WITH
it AS (
    SELECT ?1 -> 'log' AS log, ?1 ->> '$.log.profile' AS profile, ?1 ->> 'by_name' AS by_name,
        iif(?1 ->> 'ds_config' IS NULL, NULL, 'deepspeed') AS deepspeed, ?1 ->> 'is_line' AS is_line,
        nullif(?1 ->> 'devices', 0) AS devices, json_array_length(?1, '$.inputs') AS inputs),
axis AS (
    SELECT key AS n, value ->> 'key' AS key, value ->> 'option' AS option, value ->> 'warning' AS warning,
        value ->> 'line' AS line, value ->> 'is_word' AS is_word, value ->> 'is_added' AS is_added,
        value ->> 'is_variable' AS is_variable, value ->> 'has_words' AS has_words, value ->> 'is_assigned' AS is_assigned,
        value ->> 'is_devices' AS is_devices, value ->> 'file' AS file, value ->> 'path' AS path
    FROM json_each(?1, '$.axes')),
degree_axes AS (SELECT 1 FROM json_each(?1, '$.degrees') WHERE value ->> 'is_axis' LIMIT 1),
input AS (
    SELECT key AS n, value ->> 'is_of_model' AS is_of_model, say('%s = %s%s', value ->> 'key', value ->> 'value',
        iif(value ->> 'is_flag', '   # as in the command', '')) AS line
    FROM json_each(?1, '$.inputs')),

-- The words, each behind what stands before it; those of the axes before a launcher's own.
word (at, is_own, n, text) AS (
    SELECT key, 1, 0, iif(key = 0, '', iif(is_line, ' ', ', ')) || iif(is_line, value, quoted(value))
        FROM json_each(?1, '$.words'), it
    UNION ALL SELECT ?1 ->> 'end', 0, n, CASE WHEN is_word THEN say(' {%s!r}', key)
            ELSE say('%s%s%s%s{%s}%s', iif(is_line, ' ', ', "'), iif(is_assigned, '', '--'), option,
                iif(has_words, iif(is_line, ' ', '", "'), '='), key, iif(is_line, '', '"')) END
        FROM axis, it WHERE is_word OR is_added),
words (text) AS (SELECT coalesce(group_concat(text, ''), '') FROM (SELECT text FROM word ORDER BY at, is_own, n)),
setting (part, n, text) AS (
    SELECT 1, key, substr(value, 1, instr(value, '=') - 1) || ' = ' || quoted(substr(value, instr(value, '=') + 1))
        FROM json_each(?1, '$.environment')
    UNION ALL SELECT 2, n, say('%s = "{%s}"', key, key) FROM axis WHERE is_variable),
passed AS (
    SELECT value ->> 'name' AS name, value ->> 'secret' AS secret FROM json_each(?1, '$.passed') ORDER BY key),

line (part, n, line) AS (
    SELECT 0, 0, '# Written by meshsweep init. To see what it would run: meshsweep plan. All keys: man 5 meshsweep.'
    UNION ALL SELECT 1, 0, CASE WHEN profile IS NOT NULL THEN text('log_readers', log, deepspeed)
            WHEN by_name <> deepspeed THEN '# the second is recognized by the names of the command''s options' || char(10)
                || say('profile = ["%s", "%s"]', deepspeed, by_name)
            WHEN by_name IS NOT NULL THEN '# recognized by the names of the command''s options' || char(10)
                || say('profile = "%s"', by_name)
            ELSE say('profile = "%s"', deepspeed) END
        FROM it WHERE coalesce(profile, by_name, deepspeed) IS NOT NULL
    UNION ALL SELECT 2, 0, say('%s[sweep]%sname = %s', char(10), char(10), quoted(?1 ->> 'name'))
    UNION ALL SELECT 2, 1, coalesce('objective = "' || (log ->> 'objective') || '"', 'objective = "min:duration"'
            || iif(coalesce(by_name, deepspeed) IS NULL, '   # until the script reports something better',
                '   # or a metric that the profile reads, such as "min:step_time"'))
        FROM it
    UNION ALL VALUES (3, -2, ''), (3, -1, '[job]'),
        (3, 0, '# {KEY} is replaced by the key''s value; see "Placeholders" in meshsweep(5).')
    UNION ALL SELECT 4, -1, say('# TO DO: %s ends when it has submitted the job, and prints none of its numbers. Name the '
            || 'command%s# that its script starts here, and run with --executor; see docs/clusters.md.', value, char(10))
        FROM json_each(?1, '$.words') WHERE key = 0 AND value IN ('sbatch', 'qsub', 'bsub', 'condor_submit')
    UNION ALL SELECT 4, -1, say('# Without %s: each job gets devices of its own; [local] devices says of which.', ?1 ->> 'left_out')
        WHERE ?1 ->> 'left_out' IS NOT NULL
    UNION ALL SELECT 4, -1, say('# TO DO: %s -c takes no words behind its text. Write into that: %s', ?1 ->> '$.words[0]',
            (SELECT group_concat('{' || key || '}', ', ') FROM axis WHERE is_added OR is_word))
        WHERE ?1 ->> '$.words[0]' IN ('sh', 'bash', 'dash', 'zsh') AND ?1 ->> '$.words[1]' IN ('-c', '-lc', '-ic')
            AND EXISTS (SELECT 1 FROM axis WHERE is_added OR is_word)
    UNION ALL SELECT 4, n, rtrim(warning, char(10)) FROM axis WHERE warning IS NOT NULL
    UNION ALL SELECT 5, 0, 'command = ' || iif(is_line, quoted(text), '[' || text || ']') FROM words, it
    UNION ALL SELECT 6, 0, 'env = { ' || group_concat(text, ', ') || ' }' FROM (SELECT text FROM setting ORDER BY part, n)
        HAVING count(*) > 0
    UNION ALL SELECT 7, 0, 'pass_env = [' || group_concat('"' || name || '"', ', ') || ']   # set here, and read by the command'
        FROM passed WHERE NOT secret HAVING count(*) > 0
    UNION ALL SELECT 7, 1, '# Set here too, but secret; add to pass_env what jobs need: ' || group_concat(name, ', ')
        FROM passed WHERE secret HAVING count(*) > 0
    UNION ALL VALUES (8, 0, 'timeout = "30m"            # jobs that take longer are stopped')
    UNION ALL SELECT 9, 0, text('log_readers', log, NULL) FROM it WHERE log IS NOT NULL AND profile IS NULL

    UNION ALL SELECT 10 + f.key, k, CASE k
            WHEN 0 THEN say('%s# Each job gets a copy of this file, {file.%s}, with its own values of the axes below.',
                char(10), name)
            WHEN 1 THEN say('[[job.file]]%spath = %s%sbase = %s', char(10), toml(name), char(10), toml(f.value ->> 'base'))
            ELSE '[job.file.set]' END
        FROM (SELECT *, value ->> 'name' AS name FROM json_each(?1, '$.files')) AS f, (SELECT column1 AS k FROM (VALUES (0), (1), (2)))
    UNION ALL SELECT 10 + f.key, 10 + n, say('%s = "%s"', quoted(axis.path), iif(is_devices, 'gpus', axis.key))
        FROM json_each(?1, '$.files') AS f JOIN axis ON axis.file = f.value ->> 'name'
    UNION ALL SELECT 10 + f.key, 10000, quoted(?1 ->> 'dp') || ' = "dp"'
        FROM json_each(?1, '$.files') AS f JOIN degree_axes
        WHERE f.value ->> 'name' = ?1 ->> 'dp_file' AND ?1 ->> 'derived' IS NOT NULL
    UNION ALL SELECT 1000, 0, char(10) || '# Each job gets a copy of this file, {ds_config}, with its own values of the axes '
            || 'below.' || char(10) || '[deepspeed]' || char(10) || 'config = ' || toml(?1 ->> 'ds_config')
        FROM it WHERE deepspeed IS NOT NULL

    UNION ALL SELECT 1001, 0, say('%s# The devices that %s uses; each job gets its own.%s[cluster_spec]%snum_hosts = %d',
            char(10), coalesce(?1 ->> 'launcher', 'the command'), char(10), char(10), ?1 ->> 'hosts')
            || iif(devices IS NULL, '', say('%snum_devices_per_host = %d', char(10), devices))
            || iif(inputs = 0, '', char(10) || '# device = "H100"            # needed to predict times and what does not fit')
        FROM it WHERE devices IS NOT NULL OR EXISTS (SELECT 1 FROM axis WHERE is_devices)
    UNION ALL SELECT 1002, n, line FROM axis WHERE is_devices
    UNION ALL SELECT 1002, 10000, say('%s# %s: one job at a time.%s[local]%sexclusive = true', char(10),
            ?1 ->> 'fixed_devices', char(10), char(10))
        WHERE ?1 ->> 'fixed_devices' IS NOT NULL
    UNION ALL SELECT 1003 + 2 * (NOT is_of_model), n, iif(n > min(n) OVER (PARTITION BY is_of_model), '',
            iif(is_of_model, char(10) || '# From the command; predictions are made from these keys.' || char(10) || '[model]',
                char(10) || '[training_spec]') || char(10)) || line
        FROM input
    UNION ALL SELECT 1004, 0, say('# Predictions also need: %s.', ?1 ->> 'missing') FROM it
        WHERE inputs > 0 AND ?1 ->> 'missing' IS NOT NULL
    UNION ALL SELECT 1006, -1, char(10) || '# Each list is an axis. Axes multiply: each combination of values is a job.'
            || char(10) || '[parallel_spec]'
        WHERE EXISTS (SELECT 1 FROM axis WHERE NOT is_devices) OR NOT EXISTS (SELECT 1 FROM axis)
    UNION ALL SELECT 1006, n, line FROM axis WHERE NOT is_devices
    UNION ALL SELECT 1006, 10000 + key, say('%s = %s   # %s of the file', value ->> 'key', value ->> 'value', value ->> 'path')
        FROM json_each(?1, '$.degrees') JOIN degree_axes WHERE NOT value ->> 'is_axis'
    UNION ALL SELECT 1007, 0, char(10) || '# Excludes jobs that will run out of memory; `meshsweep predict` shows the numbers.'
            || char(10) || '[predict]'
        FROM it WHERE inputs > 0
    UNION ALL SELECT 1008, 0, char(10) || rtrim(?1 ->> 'derived', char(10)) WHERE ?1 ->> 'derived' IS NOT NULL
    UNION ALL SELECT 1009, column1, column2 FROM it, (VALUES (0, ''), (1, '# If jobs need several devices, say how many; each '
            || 'job gets its own:'), (2, '# [[cluster_spec]]'), (3, '# num_hosts = 1'), (4, '# num_devices_per_host = [1, 2]'))
        WHERE devices IS NULL AND NOT EXISTS (SELECT 1 FROM axis WHERE is_devices)
    UNION ALL VALUES (1010, 0, ''), (1010, 1, '# A rule excludes combinations that cannot work, before they cost a run:'),
        (1010, 2, '# [[rule]]'), (1010, 3, '# name = "small-enough"'), (1010, 4, '# require = "micro_batch * layers <= 64"'),
        (1010, 5, '# why = "larger ones run out of memory"'))
SELECT line FROM line ORDER BY part, n;
