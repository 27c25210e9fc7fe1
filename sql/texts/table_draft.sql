-- The sweep file that `meshsweep init --from-table` drafts: of what is known of the table's columns, ?1
-- (src/draft/table_draft.c), and of the words in tables, ?2 (configs/knowledge/words.toml). A comment marks a guess.
WITH
fact AS MATERIALIZED (
    SELECT key AS n, value ->> 'name' AS name, replace(replace(value ->> 'name', char(10), ' '), char(13), ' ') AS shown,
        value ->> 'sql' AS sql, value ->> 'role' AS role,
        value ->> 'key' AS "key", value ->> 'last_word' AS last_word, value ->> 'called' AS called,
        value ->> 'section' AS section, value ->> 'is_promoted' AS is_promoted, value ->> 'is_guessed' AS is_guessed,
        value ->> 'is_filled' AS is_filled, value ->> 'numbers' AS numbers, value ->> 'is_numeric' AS is_numeric,
        value ->> 'has_mixed_numbers' AS has_mixed_numbers, value ->> 'is_above_1' AS is_above_1,
        value ->> 'has_decimal_commas' AS has_decimal_commas, value ->> 'is_guess' AS is_guess,
        value ->> 'marked' AS marked, value ->> 'has_groups' AS has_groups, value ->> 'has_both' AS has_both,
        value ->> 'rate' AS rate, value ->> 'metric' AS metric, value ->> 'is_gain' AS is_gain,
        iif(value ->> 'is_gain', 'max', 'min') AS better, value ->> 'by_name' AS by_name,
        value ->> 'unit_by_name' AS unit_by_name, json_array_length(value, '$.units') AS units,
        coalesce(value ->> '$.units[0].text', '') AS unit, value -> 'units' AS all_units, value -> 'words' AS words
    FROM json_each(?1, '$.columns')),

-- Cells that are no numbers, and what they say of how a row ended: "" that it has not.
word (n, w, text, outcome) AS MATERIALIZED (
    SELECT n, w.key, w.value, (SELECT s.value FROM json_each(?2, '$.states') AS s WHERE lower(s.key) = lower(w.value))
    FROM fact CROSS JOIN json_each(words) AS w),

-- A column's number: without unit and commas between thousands, NULL for a word. Where some cells are numbers only with
-- a decimal comma in a column of points, they stay what they are, and the import refuses their rows.
plain (n, sql, number) AS (
    SELECT n, sql, iif(has_groups, 'replace(' || sql || ', '','', '''')', sql) FROM fact),
cut (n, sql, number) AS (
    SELECT n, plain.sql, iif(units = 1 AND unit <> '', 'replace(' || number || ', ' || quote(unit) || ', '''')', number)
        || iif(has_groups OR units > 1 OR unit <> '', ' + 0.0', '')
    FROM plain JOIN fact USING (n)),
converted (n, sql, number) AS (
    SELECT n, sql, coalesce('(' || number || ') * CASE ltrim(' || sql || ', ''+-.,0123456789eE'')'
            || (SELECT group_concat(' WHEN ' || quote(value ->> 'text') || say(' THEN %0.15g', value ->> 'factor'), '')
                FROM json_each((SELECT all_units FROM fact WHERE fact.n = cut.n)) WHERE key > 0)
            || ' ELSE 1 END', number)
    FROM cut),
unmixed (n, sql, number) AS (
    SELECT n, fact.sql, iif(has_both, say('iif(instr(%s, '',''), %s, %s)', fact.sql, fact.sql, number), number)
    FROM converted JOIN fact USING (n)),
number (n, number) AS MATERIALIZED (
    SELECT n, coalesce('iif(' || sql || (SELECT iif(count(*) > 12, ' NOT GLOB ''[-+.0-9]*''',
                ' IN (' || group_concat(quote(text), ', ') || ')')
                FROM (SELECT text FROM word WHERE word.n = unmixed.n ORDER BY w))
            || ', NULL, ' || number || ')', number)
    FROM unmixed),

-- "ZeRO-1", "stage 2": a ZeRO stage and its name.
stage (n) AS (
    SELECT n FROM fact JOIN word USING (n) WHERE numbers = 0 GROUP BY n
    HAVING count(*) <= 12 AND min((text LIKE 'zero%' OR text LIKE 'stage%')
        AND text GLOB '*[0-9]' AND text NOT GLOB '*[0-9]?*')),
-- What stands for neither true nor false.
truth (n, absent) AS (
    SELECT n, group_concat(quote(text), ', ') FILTER (WHERE lower(text) NOT IN ('true', 'false'))
    FROM fact JOIN word USING (n) WHERE numbers = 0 GROUP BY n
    HAVING count(*) <= 12 AND sum(lower(text) IN ('true', 'false'))
        AND min(lower(text) IN ('true', 'false') OR text IN (SELECT value FROM json_each(?2, '$.absent')))),
value (n, value) AS MATERIALIZED (
    SELECT n, CASE WHEN is_numeric AND unit = '' THEN number
        WHEN n IN (SELECT n FROM stage) THEN 'substr(' || sql || ', -1) + 0'
        ELSE coalesce('iif(' || sql || ' IN (' || absent || '), NULL, ' || sql || ')', sql) END
    FROM fact JOIN number USING (n) LEFT JOIN truth USING (n)),

-- A metric's unit, from its cells or its name.
metric (n, unit) AS (
    SELECT n, CASE WHEN ltrim(unit) <> '' THEN ltrim(unit)
        WHEN by_name IS NULL THEN coalesce(?2 -> 'rates' ->> "key", rate,
            iif(last_word IN (SELECT value FROM json_each(?2, '$.units')) AND NOT is_gain, last_word, ''))
        WHEN by_name = 'total_time' AND unit_by_name = '' AND last_word IN (SELECT key FROM json_each(?2, '$.seconds'))
            THEN last_word
        WHEN by_name = 'mfu' AND is_above_1 THEN '%' ELSE unit_by_name END
    FROM fact WHERE role = 'metric'),

-- The first of some metrics, else the one that most rows have.
objective AS (
    SELECT fact.* FROM fact LEFT JOIN json_each(?2, '$.aims') AS aim ON aim.value = metric
    WHERE role = 'metric' ORDER BY aim.key IS NULL, aim.key, iif(aim.key IS NULL, -numbers, 0), n LIMIT 1),

-- How a row ended. If no column says so, a word in place of a number may: "OOM". An export has the class of a failure
-- beside it.
ending (n, sql) AS (
    SELECT n, value FROM value WHERE n = ?1 ->> 'state'
    UNION ALL SELECT NULL, * FROM (SELECT 'iif(' || sql || ' = ' || quote(text) || ', ' || quote(outcome) || ', ''ok'')'
        FROM fact JOIN word USING (n) WHERE is_numeric AND outcome NOT IN ('', 'ok') ORDER BY n, w LIMIT 1)
    WHERE NOT EXISTS (SELECT 1 FROM fact WHERE n = ?1 ->> 'state')),
duration (n, factor) AS (
    SELECT n, coalesce((SELECT value FROM json_each(?2, '$.seconds') AS s
        WHERE lower(s.key) = lower(iif(unit = '', last_word, ltrim(unit)))), 1)
    FROM fact WHERE role = 'duration' ORDER BY n LIMIT 1),

-- A row's number of devices if no column gives it per host. Whole numbers in SQL are divided without a rest: rows that
-- have one are refused. If the table has such rows, there are at least so many devices per host.
device (devices, hosts, divides, node) AS MATERIALIZED (
    SELECT devices, (SELECT number FROM number WHERE n = ?1 ->> 'hosts'), ?1 ->> 'divides', ?1 ->> 'node'
    FROM (SELECT group_concat(number, ' * ') AS devices
        FROM (SELECT number FROM json_each(?1, '$.devices') AS d JOIN number ON n = d.value ORDER BY d.key))
    WHERE devices IS NOT NULL),
device_line (n, line) AS (
    SELECT 1, '# The table does not give the number of devices; it follows from the parallel degrees.' FROM device
        WHERE NOT ?1 ->> 'is_sum'
    UNION ALL SELECT 2, say('# A guess: no column has the hosts; %d of these devices are usual in one.', node)
        FROM device WHERE node
    UNION ALL SELECT 3, 'num_hosts = ' || toml(say('(%s + %d) / %d', devices, node - 1, node)) FROM device WHERE node
    UNION ALL SELECT 4, '# A guess: the degrees are no multiple of the hosts in all rows.' FROM device
        WHERE hosts IS NOT NULL AND NOT divides
    UNION ALL SELECT 5, 'num_devices_per_host = ' || toml(CASE
            WHEN node THEN say('%s / ((%s + %d) / %d)', devices, devices, node - 1, node)
            WHEN hosts IS NULL THEN devices
            WHEN divides THEN say('(%s) / (%s)', devices, hosts)
            ELSE say('max(1, (%s + %s - 1) / (%s))', devices, hosts, hosts) END)
        FROM device),

line (part, n, line) AS (
    SELECT 0, 0, say('# Written by meshsweep init from %s. Check it, then: meshsweep import -c FILE %s', ?1 ->> 'table',
        ?1 ->> 'table')
    UNION ALL VALUES (0, 1, '# All keys of [import]: man 5 meshsweep.'), (0, 2, ''), (0, 3, '[sweep]')
    UNION ALL SELECT 0, 4, 'name = ' || toml(?1 ->> 'name')
    UNION ALL SELECT 0, 5, coalesce((SELECT say('objective = "%s:%s"%s', better, metric,
            iif(by_name IS NULL, '   # a guess', '')) FROM objective),
        '# objective = "min:NAME": no column of the table looks like a measurement')
    UNION ALL VALUES (0, 6, '')
    UNION ALL SELECT 1, n, say('[job.metrics.%s]%s%s', metric, char(10), CASE
            WHEN metric.unit <> '' THEN 'unit = ' || toml(metric.unit) || char(10)
            WHEN by_name IN ('step_time', 'peak_memory') THEN 'means = "other"   # to compare it with predictions, '
                || 'give its unit instead, such as unit = "s" or "GiB"' || char(10)
            ELSE '' END) || say('better = "%s"%s', better, iif(by_name IS NULL, '   # a guess', ''))
        FROM fact JOIN metric USING (n)
    UNION ALL VALUES (2, 0, ''), (2, 1, '# Each value is an SQL expression over the table''s columns.'),
        (2, 2, '[import]')

    -- A guess where cells are numbers without decimal commas as well.
    UNION ALL SELECT 3, n, say('# a guess: %s of %s is a number with %s', marked, shown, iif(has_decimal_commas,
            'a decimal comma or points between thousands', 'commas between thousands'))
        FROM fact WHERE is_numeric AND is_guess
    UNION ALL SELECT 4, 0, 'decimal_comma = [' || group_concat(toml(name), ', ') || ']'
        FROM (SELECT name FROM fact WHERE is_numeric AND has_decimal_commas ORDER BY n) HAVING count(*) > 0
    UNION ALL SELECT 5, 0, 'state = ' || toml(iif(?1 ->> 'is_export' AND EXISTS (SELECT 1 FROM fact
            WHERE name = 'failure' AND is_filled), 'coalesce(failure, ' || sql || ')', sql)) FROM ending
    UNION ALL SELECT 5, 1, 'duration = ' || iif(factor = 1, toml(number) || '   # in seconds',
            toml(say('%g * (%s)', factor, number))) FROM duration JOIN number USING (n)
    UNION ALL SELECT 6, w, iif(w = min(w) OVER (), '[import.states]' || char(10), '') || say('%s = "%s"%s', toml(text),
            coalesce(outcome, iif(text LIKE '%oom%' OR text LIKE '%memory%', 'oom', 'exit')),
            iif(outcome IS NULL, '   # a guess: ok, or a failure class', ''))
        FROM word WHERE n = ?1 ->> 'state' AND (outcome IS NULL OR outcome NOT IN ('', text))
    UNION ALL SELECT 7, w, say('[[import.refuse]]%swhen = %s%swhy = %s', char(10), toml(sql || ' = ' || quote(text)),
            char(10), toml('it was ' || text))
        FROM word JOIN ending USING (n) WHERE outcome = ''
    UNION ALL SELECT 8, column1, column2 FROM (VALUES (1, '[[import.refuse]]'), (2, 'when = "excluded IS NOT NULL"'),
            (3, 'why = "it was excluded"'))
        WHERE ?1 ->> 'is_export' AND EXISTS (SELECT 1 FROM fact WHERE name = 'excluded' AND is_filled)

    UNION ALL SELECT 10 + s.key, -10, '[import.' || s.value || ']' FROM json_each(?1, '$.sections') AS s
        WHERE s.key IN (SELECT section FROM fact WHERE role = 'key')
        OR s.value = 'cluster_spec' AND EXISTS (SELECT 1 FROM device)
    UNION ALL SELECT 10 + s.key, n - 10, line FROM device_line, json_each(?1, '$.sections') AS s
        WHERE s.value = 'cluster_spec'
    UNION ALL SELECT 10 + section, n,
        iif(is_promoted, '# A guess: nothing else tells these rows apart.' || char(10), '')
        || iif(has_mixed_numbers, '# A guess: named as a measurement, but not all of its cells are numbers of a kind.'
            || char(10), '')
        || iif(is_guessed, '# A guess: not all rows have a multiple of their hosts.' || char(10), '')
        || say('%s = %s', called, toml(value))
        FROM fact JOIN value USING (n) WHERE role = 'key'
    UNION ALL SELECT 20, -1, '[import.metrics]' FROM objective
    UNION ALL SELECT 20, n, say('%s = %s', metric, toml(number)) FROM fact JOIN number USING (n) WHERE role = 'metric'
    UNION ALL SELECT 21, 0, say('[[import.refuse]]%swhen = %s%swhy = "%s"', char(10),
            toml(say('(%s) %% (%s) <> 0', devices, hosts)), char(10),
            'its hosts would not have the same number of devices')
        FROM device WHERE hosts IS NOT NULL AND divides
    UNION ALL SELECT 22, 0, rtrim(?1 ->> 'derived', char(10)) WHERE ?1 ->> 'derived' IS NOT NULL

    UNION ALL SELECT 23, r.n, say('# Left out, because %s: %s', why, names)
        FROM (SELECT column1 AS n, column3 AS why,
                (SELECT group_concat(shown, ', ') FROM (SELECT shown FROM fact WHERE role = column2 ORDER BY n)) AS names
            FROM (VALUES (1, 'label', 'every row has its own value or all have the same'),
                (3, 'own', 'an export has them beside keys and metrics'), (4, 'empty', 'they are empty'))) AS r
        WHERE names IS NOT NULL
    UNION ALL SELECT 23, 2, '# Rows that differ in these alone are repeats of one job.'
        WHERE ?1 ->> 'has_repeats' AND EXISTS (SELECT 1 FROM fact WHERE role = 'label')
    UNION ALL SELECT 24, 0, say('[[import.refuse]]%swhen = %s%swhy = "it sums up the rows above"', char(10),
            toml(say('lower("%s") IN (%s)', replace(?1 ->> 'sum_column', '"', '""'),
                (SELECT group_concat(quote(value), ', ') FROM json_each(?1, '$.sums')))), char(10))
        WHERE ?1 ->> 'sum_column' IS NOT NULL)
SELECT line FROM line ORDER BY part, n
