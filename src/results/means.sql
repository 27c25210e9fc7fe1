-- What else than the first job is selected of the rows `r` of configurations, as SQL: keys that tell them apart, how
-- many replicates they have, and means. NULL where no keys are replicate keys.

WITH title (n, name) AS (SELECT cid, name FROM pragma_table_info('results')),
 replicate (name, bare) AS (SELECT r.value, substr(r.value, instr(r.value, '.') + 1)
    FROM meta AS m, json_each(m.value) AS r WHERE m.name = 'replicate'),
 border (keys, state, metrics, rss) AS (SELECT max(n) FILTER (WHERE name = 'in_sweep'),
    max(n) FILTER (WHERE name = 'state'), max(n) FILTER (WHERE name = 'attempts'),
    max(n) FILTER (WHERE name = 'max_rss')
    FROM title)
SELECT group_concat(text, '') FROM (SELECT CASE
    WHEN n = state THEN ', sum(r.state = ''ok'') AS replicates, sum(r.state = ''failed'') AS replicates_failed,'
        || ' sum(r.state IN (''pending'', ''running'')) AS replicates_open'
    WHEN n > metrics AND n < rss THEN printf(', avg(iif(r.state = ''ok'', r."%w", NULL)) AS "%w"', name, name)
    WHEN n > keys AND n < state AND name COLLATE NOCASE NOT IN (SELECT name FROM replicate)
        AND name COLLATE NOCASE NOT IN (SELECT bare FROM replicate
            WHERE name COLLATE NOCASE NOT IN (SELECT name FROM title)) THEN printf(', r."%w"', name)
    END AS text FROM title, border WHERE EXISTS (SELECT 1 FROM replicate) ORDER BY n)
