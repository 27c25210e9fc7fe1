-- The lines of `meshsweep best` and of what `status` says of configurations: of the document ?1 and of what stands beside
-- it, ?2, of which `say` names the part (src/report/saying.h).
WITH
this (say, unit, indent) AS MATERIALIZED (
    SELECT ?2 ->> 'say', coalesce(' ' || (?1 ->> 'unit'), ''), iif(?2 ->> 'say' = 'status', '  ', '')),
-- "mean of 3 replicates (median 7, 95 % interval 6 to 8, from 6.5 to 7.5), 1 failed, 2 not ended": of the winner, 0, and
-- of that of each group.
winner (n, value) AS (
    SELECT 0, ?1 UNION ALL SELECT key + 1, value FROM json_each(?2, '$.groups.groups')),
statistics (n, alike, text) AS MATERIALIZED (
    SELECT n, r ->> 'alike', say('mean of %d replicate%s', r ->> 'ok', iif(r ->> 'ok' = 1, '', 's'))
        || iif(r ->> 'ok' > 1, say(' (median %.6g, 95 %% interval %.6g to %.6g, from %.6g to %.6g)', r ->> 'median', r ->> 'low',
            r ->> 'high', r ->> 'minimum', r ->> 'maximum'), '')
        || iif(r ->> 'failed', say(', %d failed', r ->> 'failed'), '') || iif(r ->> 'open', say(', %d not ended', r ->> 'open'), '')
    FROM (SELECT n, value -> 'replicates' AS r FROM winner WHERE ?2 ->> 'has_replicates')),
others (n, text) AS (SELECT n, say('cannot be told apart from %d other%s', alike, iif(alike = 1, '', 's')) FROM statistics WHERE alike),
word AS MATERIALIZED (
    SELECT key AS n, value ->> 0 AS title, value ->> 1 AS text, length(CAST(value ->> 0 AS BLOB)) AS width
    FROM json_each(?2, '$.words')),
-- ", zero_stage 1, …": keys that differ from the winner's.
differences (list, n, text) AS MATERIALIZED (
    SELECT l.list, j.key, coalesce((SELECT group_concat(say(', %s %40p', w.value ->> 0, w.value ->> 1), '') FROM json_each(j.value) AS w), '')
    FROM (SELECT value AS list FROM json_each('["close_words","pareto_words","group_words"]')) AS l,
        json_each(?2, '$.' || l.list) AS j),
objective AS MATERIALIZED (
    SELECT key AS n, value ->> 'metric' AS metric, coalesce(' ' || (value ->> 'unit'), '') AS unit, value ->> 'maximise' AS maximise
    FROM json_each(?2, '$.objectives')),
single (part, n, line) AS (
    SELECT 0, 0, say('%s %s %r%s', iif(?1 ->> 'better' = 'max', 'highest', 'lowest'), ?1 ->> 'objective', ?1 ->> 'value', unit)
        || coalesce(' at ' || (SELECT value ->> 'point' FROM json_each(?1, '$.metrics') WHERE key = ?1 ->> 'objective'), '')
        || say(', job %d of sweep %s', ?1 ->> 'job', ?1 ->> 'sweep') FROM this
    UNION ALL SELECT 1, 0, s.text || '; the job shown is the median one' || char(10)
        || coalesce(o.text || ' (95 %)' || char(10), '') FROM statistics AS s LEFT JOIN others AS o USING (n) WHERE n = 0
    UNION ALL SELECT 2, n, say('  %s%s  %0p', title, printf('%*s', (SELECT max(width) FROM word) - width, ''), text) FROM word
    -- A loss of NaN is no reason against a job whose objective is its speed; its user has to know.
    UNION ALL SELECT 3, id, say('%swarning: %d of %d samples of its %s are NaN or infinite', char(10), value ->> 'not_finite',
        (value ->> 'samples') + (value ->> 'not_finite'), key) FROM json_each(?1, '$.metrics') WHERE value ->> 'not_finite' > 0
    UNION ALL SELECT 4, 0, say('%scommand%s%s', char(10), char(10), coalesce(?1 ->> 'shell',
        'no command: the job was measured elsewhere (' || (?2 ->> 'measured_elsewhere') || ')', 'no command was recorded'))
    UNION ALL SELECT 4, 1, 'secrets are left out; fill them in before you run it: ' || (?1 ->> 'secrets_left_out')
        WHERE ?1 ->> 'secrets_left_out' IS NOT NULL
    UNION ALL SELECT 5, 0, say('%sfiles: %s', char(10), coalesce(?1 ->> 'files', 'none were kept'))
    UNION ALL SELECT 6, 0, char(10) || text('full_training', ?1 -> '$.full_trainings[#-1]') WHERE ?1 ->> '$.full_trainings[0]' IS NOT NULL
    UNION ALL SELECT 7, -1, char(10) || 'within 2 %' WHERE ?1 ->> '$.close[0]' IS NOT NULL
    UNION ALL SELECT 7, c.key, say('  job %d: %r%s%s', value ->> 'job', value ->> 'value', unit, text)
        FROM this, json_each(?1, '$.close') AS c JOIN differences ON list = 'close_words' AND n = c.key
    UNION ALL SELECT 8, 0, '  and more; meshsweep results --sort shows them' WHERE ?2 ->> 'more'
    -- With several objectives only.
    UNION ALL SELECT 9, 0, char(10) || 'no other job is at least as good in all objectives and better in one (Pareto set):'
        || (SELECT group_concat(' ' || iif(maximise, 'highest ', 'lowest ') || metric, ',') FROM objective)
        || iif(?2 ->> 'has_replicates', '; means of replicates', '') WHERE ?2 ->> 'incomplete' IS NOT NULL
    UNION ALL SELECT 10, p.key, say('  job %d: %s%s%s', value ->> 'job', (
            SELECT group_concat(say('%s %r%s', metric, v.value, unit), ', ') FROM json_each(p.value, '$.values') AS v
            JOIN objective AS o ON o.metric = v.key),
            coalesce(', tied with job ' || (value ->> 'tie'), ''), text)
        FROM json_each(?1, '$.pareto') AS p JOIN differences ON list = 'pareto_words' AND n = p.key WHERE p.key < 20
    UNION ALL SELECT 11, 0, say('  and %d more; --json lists them all', n - 20)
        FROM (SELECT json_array_length(?1, '$.pareto') AS n) WHERE n > 20
    UNION ALL SELECT 11, 1, say('  %d ok %s one of these', n, iif(n = 1, 'job lacks', 'jobs lack'))
        FROM (SELECT ?2 ->> 'incomplete' AS n) WHERE n > 0
    -- Whether a condition binds.
    UNION ALL SELECT 12, -1, char(10) || 'subject to' WHERE ?1 ->> '$.subject_to[0]' IS NOT NULL
    UNION ALL SELECT 12, c.key, say('  %l', value ->> 'condition') || iif(value ->> 'better_jobs' > 0,
            say(': binds, excludes %d better job%s, the best of them job %d with %r', value ->> 'better_jobs',
                iif(value ->> 'better_jobs' = 1, '', 's'), value ->> 'job', value ->> 'objective_value')
            || coalesce(' (unknown: ' || (?2 ->> ('$.notes[' || c.key || ']')) || ')',
                iif(value ->> 'value' IS NULL OR value ->> 'bound' IS NULL, '',
                    say(' (%r, the bound is %r)', value ->> 'value', value ->> 'bound'))),
            ': not binding, ' || iif(value ->> 'broken', 'the jobs that do not meet it are no better', 'every job meets it'))
        FROM json_each(?1, '$.subject_to') AS c
    UNION ALL SELECT 13, 0, rtrim(char(10) || coalesce((?2 ->> 'unranked') || char(10), '') || coalesce(?2 ->> 'excluded', ''), char(10))
        WHERE coalesce(?2 ->> 'unranked', ?2 ->> 'excluded') IS NOT NULL
    UNION ALL SELECT 13, 1, say('%sother groups have no winner: %l', char(10), ?2 ->> 'without_winner')
        WHERE ?2 ->> 'without_winner' IS NOT NULL
    -- What the same without the condition of --subject-to or --memory would be.
    UNION ALL SELECT 14, 0, char(10) || iif(?1 ->> '$.without.job' = ?1 ->> 'job', 'without it the same job wins',
        say('without it: job %d, %r%s; it loses %.3g %%', ?1 ->> '$.without.job', ?1 ->> '$.without.value', unit,
            100 * (?1 ->> 'lost_share'))) FROM this WHERE ?1 ->> 'without' IS NOT NULL),
-- The winner of each group, with the keys in which the winners differ. Only a rate, where more is better, can be divided
-- among devices.
grouped (part, n, line) AS (
    SELECT 1, w.n, say('%s%l: %r%s', indent, value ->> 'group', value ->> 'value', unit)
        || iif(?1 ->> 'better' = 'max' AND value ->> 'per_device' <> value ->> 'value', say(' (%r per device)', value ->> 'per_device'), '')
        || say(', job %d%s', value ->> 'job', d.text)
        || coalesce(char(10) || indent || '  ' || s.text || coalesce('; ' || o.text
            || say(' of %d', (value ->> 'configurations') - 1), ''), '')
    FROM this, winner AS w JOIN differences AS d ON d.list = 'group_words' AND d.n = w.n - 1
    LEFT JOIN statistics AS s ON s.n = w.n LEFT JOIN others AS o ON o.n = w.n WHERE w.n > 0),
line (part, n, line) AS (
    SELECT * FROM single WHERE (SELECT say FROM this) = 'winner'
    UNION ALL SELECT 0, 0, say('%s %s in each group; groups are not compared with each other%s',
        iif(?1 ->> 'better' = 'max', 'highest', 'lowest'), ?1 ->> 'objective', char(10)) FROM this WHERE say = 'groups'
    UNION ALL SELECT 0, 0, say('best %s so far of each group:', ?1 ->> 'objective') FROM this WHERE say = 'status' AND ?2 ->> 'has_groups'
    UNION ALL SELECT * FROM grouped WHERE (SELECT say FROM this) <> 'winner' AND ?2 ->> 'has_groups'
    UNION ALL SELECT 1, 1e9, say('%swithout a winner: %l', indent, ?2 ->> 'without_winner')
        FROM this WHERE say <> 'winner' AND ?2 ->> 'without_winner' IS NOT NULL
    UNION ALL SELECT 2, c.key - 1000, say('%ssubject to %l: %d ok job%s not meet it', iif(c.key, '', char(10)), value ->> 'condition',
        value ->> 'broken', iif(value ->> 'broken' = 1, ' does', 's do'))
        FROM this, json_each(?1, '$.subject_to') AS c WHERE say = 'groups' AND value ->> 'broken' > 0
    UNION ALL SELECT 2, 0, char(10) || 'meshsweep best --group GROUP shows the winner of one group with its command' FROM this WHERE say = 'groups'
    UNION ALL SELECT 0, 0, say('best so far: %s %r%s, %s, job %d', ?1 ->> 'objective', ?1 ->> 'value', unit, s.text, ?1 ->> 'job')
        || coalesce(char(10) || '  ' || o.text, '')
        FROM this, statistics AS s LEFT JOIN others AS o USING (n) WHERE s.n = 0 AND say = 'status' AND NOT (?2 ->> 'has_groups'))
SELECT line FROM line ORDER BY part, n;
