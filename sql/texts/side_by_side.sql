-- The lines of `meshsweep compare JOB JOB`, of its document ?1 (src/report/saying.h).
WITH
figure AS MATERIALIZED (
    SELECT f.key AS n, f.value AS figure, s.key AS side, s.value ->> 'value' AS value, s.value ->> 'low' AS low, s.value ->> 'high' AS high,
        s.value ->> 'runs' AS runs
    FROM json_each(?1, '$.figures') AS f, json_each(f.value) AS s WHERE s.key IN ('first', 'second')),
side (n, side, text) AS MATERIALIZED (
    SELECT n, side, iif(runs = 0, 'none', say('%r', value) || iif(runs > 1, say(' (%d runs', runs), '')
        || iif(low IS NULL, '', say('%s%r to %r', iif(runs > 1, ', 95 % ', ' (95 % by its samples '), low, high))
        || iif(runs > 1 OR low IS NOT NULL, ')', '')) FROM figure),
jobs (side, text) AS (
    SELECT key, iif(json_array_length(value) = 1, say('job %d', value ->> 0),
        say('%d jobs (the first is %d)', json_array_length(value), value ->> 0))
    FROM json_each(?1) WHERE key IN ('first_jobs', 'second_jobs')),
apart AS (
    SELECT key AS n, value AS item, lag(value ->> 'part') OVER (ORDER BY key) IS NOT value ->> 'part' AS begins
    FROM json_each(?1, '$.apart')),
line (part, n, line) AS (
    SELECT 0, 0, a.text || ' | ' || b.text FROM jobs AS a, jobs AS b WHERE a.side = 'first_jobs' AND b.side = 'second_jobs'
    UNION ALL SELECT 1, 0, char(10) || iif(EXISTS (SELECT 1 FROM figure), 'figures', 'figures: none')
    UNION ALL SELECT 2, n, say('  %l%s: %s | %s', figure ->> 'metric', coalesce(', ' || (figure ->> 'unit'), ''), a.text, b.text)
        || iif(figure ->> 'ratio' IS NULL, '', say(', ratio %.4g%s', figure ->> 'ratio',
            iif(figure ->> 'told_apart', '', ' (cannot be told apart)')))
        FROM figure JOIN side AS a USING (n) JOIN side AS b USING (n)
        WHERE figure.side = 'first' AND a.side = 'first' AND b.side = 'second'
    UNION ALL SELECT 3, n, iif(begins, say('%s%s%s', char(10), item ->> 'part', char(10)), '')
        || say('  %l: %400p | %400p', item ->> 'what', coalesce(item ->> 'of_first', 'none'), coalesce(item ->> 'of_second', 'none'))
        FROM apart
    UNION ALL SELECT 3, 0, char(10) || 'nothing else that was recorded differs' WHERE NOT EXISTS (SELECT 1 FROM apart)
    UNION ALL SELECT 4, key, iif(key = 0, say('%sfirst lines in which the logs differ%s', char(10), char(10)), '')
        || say('  line %d: %400p | %400p', value ->> 'line', coalesce(value ->> 'of_first', 'none'), coalesce(value ->> 'of_second', 'none'))
        FROM json_each(?1, '$.log_lines')
    UNION ALL SELECT 4, 0, say('%slogs: %s', char(10), coalesce(?1 ->> 'no_log', 'equal')) WHERE ?1 ->> '$.log_lines[0]' IS NULL)
SELECT line FROM line ORDER BY part, n;
