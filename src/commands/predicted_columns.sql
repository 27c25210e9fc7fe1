-- What makes the view `results` of what `predict` looks at (sql/predictions.sql), and the columns that people are
-- shown: keys that differ, the state and the predictions. ?1: the sweep's keys (src/cli/match_words.h); ?2: whether
-- they are of scaled plans. A key has its section before it where its name alone says too little.
WITH
shown AS (SELECT * FROM field WHERE ?2 OR part <> 'plan'),
key AS (
    SELECT key AS n, value ->> 0 AS section, value ->> 1 AS name, value ->> 2 AS differs,
        value ->> 3 AND value ->> 1 COLLATE NOCASE NOT IN (SELECT name FROM shown) AS bare FROM json_each(?1)),
titled AS (SELECT *, iif(bare, name, section || '.' || name) AS title FROM key WHERE bare OR section <> 'derived')
SELECT 'CREATE VIEW results AS SELECT number, job, key, '
    || coalesce((SELECT group_concat(printf('json_extract(%s, %Q) AS "%w", ', section, '$."' || name || '"', title), '')
        FROM (SELECT * FROM titled ORDER BY n)), '')
    || (SELECT group_concat(iif(?2 AND part IN ('predicted', 'plan'), 'scaled.', 'prediction.') || name, ', ')
        FROM (SELECT * FROM shown WHERE name NOT IN ('number', 'job', 'key') ORDER BY n))
    || iif(?2, ' FROM prediction LEFT JOIN kept AS scaled USING (words); CREATE TABLE kept AS SELECT * FROM scaled',
        ' FROM prediction'),
    (SELECT group_concat(title) FROM (SELECT title, 0 AS part, n FROM titled WHERE differs AND section <> 'derived'
        UNION ALL SELECT name, 1, n FROM shown WHERE brief AND NOT (?2 AND part = 'job') ORDER BY 2, 3))
