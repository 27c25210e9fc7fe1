-- What configurations are made from, as SQL (src/results/configurations.h): the table `same` for WITH; the statement of jobs and
-- their groups, NULL without groups; and the view, NULL where nothing but jobs competes. ?1: which attempts `a` may win, as SQL.
-- Names of keys hold no quotes.

WITH
listed (kind, n, key, section, name) AS MATERIALIZED (
    SELECT m.name, row_number() OVER (PARTITION BY m.name ORDER BY k.id) - 1, k.value,
        iif(instr(k.value, '.'), substr(k.value, 1, instr(k.value, '.') - 1), k.value),
        iif(instr(k.value, '.'), substr(k.value, instr(k.value, '.') + 1), NULL)
    FROM meta AS m, json_each(m.value) AS k WHERE m.name IN ('replicate', 'group_by')),
replicate AS (SELECT * FROM listed WHERE kind = 'replicate'),
-- What no text is, as it is written, not 1.0e-05; a text, too, unless something else is written alike: "1" beside 1.
written (sql) AS (VALUES ('CASE ifnull(y#, ''null'') WHEN ''null'' THEN ''none'' WHEN ''true'' THEN ''true'' '
    || 'WHEN ''false'' THEN ''false'' WHEN ''real'' THEN replace(g#, ''.0e'', ''e'')')),
-- The value that job `j` has of a key, and what it is in JSON; and "model.name=1B, num_hosts=1", of the rows of keyed.
grouped (n, keys, label, least) AS MATERIALIZED (SELECT n,
    replace(', json_extract(' || value || ') AS g#, json_type(' || value || ') AS y#', '#', n),
    iif(n, ' || '', ', '''') || iif(name = 'name', key, coalesce(name, key)) || '='' || '
    || replace(sql || ' WHEN ''text'' THEN iif(g# IN (SELECT ' || sql
        || ' ELSE CAST(g# AS TEXT) END FROM keyed WHERE y# IS NOT ''text''), json_quote(g#), g#) ELSE g# END', '#', n),
    replace(',
           min(min(g#)) OVER (PARTITION BY comparison_group) AS g#', '#', n)
    FROM written, (SELECT *, iif(name IS NULL, 'j.derived',
            '(SELECT json FROM spec WHERE id = j.' || replace(section, '_spec', '') || '_id)')
        || ', ''$."' || coalesce(name, key) || '"''' AS value FROM listed WHERE kind = 'group_by' ORDER BY n)),
part AS MATERIALIZED (SELECT
    coalesce((SELECT group_concat(keys, '') FROM grouped), '') AS keys,
    coalesce((SELECT group_concat(label, '') FROM grouped), '''''') AS label,
    coalesce((SELECT group_concat(least, '') FROM grouped), '') AS least,
    coalesce((SELECT group_concat(replace('g#, ', '#', n), '') FROM grouped), '') AS places,
    -- A spec's JSON without replicate keys is what its replicates have in common.
    coalesce((SELECT 'same (id, same) AS MATERIALIZED (
    SELECT id, first_value(id) OVER (PARTITION BY kind, CASE kind' || group_concat(' WHEN ''' || section || ''' THEN json_remove(json'
            || coalesce((SELECT group_concat(', ''$."' || name || '"''', '')
                FROM (SELECT name FROM replicate AS o WHERE o.section = r.section ORDER BY o.n)), '')
            || ')', '')
        || ' ELSE json END ORDER BY id) FROM spec)' FROM (SELECT * FROM replicate ORDER BY n) AS r HAVING count(*)),
        'same (id, same) AS (SELECT id, id FROM spec)') AS same,
    -- Half the interval is so many standard errors: the 97.5 % quantile of Student's t from one degree of freedom on.
    (SELECT group_concat(printf(' WHEN %d THEN %.4f', key + 2, value), '') FROM json_each('[12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
        2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009,
        2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452]')) AS reaches)

-- Replicates are in the order of their values, each with what all of its configuration come to; groups in that of theirs: the
-- number 2 is before 10.
SELECT same, iif(places = '', NULL, 'WITH keyed AS MATERIALIZED (SELECT j.id' || keys
        || ' FROM job AS j WHERE j.sweep_id = (SELECT id FROM current_sweep)) SELECT id, dense_rank() OVER (ORDER BY ' || label
        || ') - 1, ' || label || ' FROM keyed ORDER BY id'),
    'CREATE VIEW configurations AS
WITH ' || same || ',
keyed AS MATERIALIZED (
    SELECT j.id AS job, j.state, j.devices, v.value' || keys || ',
           c.same AS c, m.same AS m, t.same AS t, p.same AS p
    FROM job AS j LEFT JOIN same AS c ON c.id = j.cluster_id LEFT JOIN same AS m ON m.id = j.model_id
    LEFT JOIN same AS t ON t.id = j.training_id LEFT JOIN same AS p ON p.id = j.parallel_id
    LEFT JOIN attempt AS a NOT INDEXED ON a.id = j.attempt_id AND j.state = ''ok'' AND ' || ?1 || '
    LEFT JOIN job_metric AS v ON v.job_id = j.id AND a.id IS NOT NULL AND v.name = ' || quote(objective) || '
    WHERE j.sweep_id = (SELECT id FROM current_sweep)),
j AS (SELECT *, ' || label || ' AS comparison_group FROM keyed),
k AS MATERIALIZED (
    SELECT *, min(job) OVER w AS configuration, count(value) OVER w AS replicates, avg(value) OVER w AS mean,
           row_number() OVER (w ORDER BY value IS NULL, value, job) AS place
    FROM j WINDOW w AS (PARTITION BY c, m, t, p)),
o AS MATERIALIZED (
    SELECT comparison_group, mean AS value, replicates, max(devices) AS devices,
           max(iif(place = (replicates + 1) / 2, job, NULL)) AS job,
           sum(state = ''failed'') AS failed, sum(state IN (''pending'', ''running'')) AS open,
           avg(iif(2 * place IN (replicates, replicates + 1, replicates + 2), value, NULL)) AS median,
           sqrt(sum((value - mean) * (value - mean)) / (replicates - 1)) AS stddev,
           min(value) AS least, max(value) AS most, min(sum(state IN (''pending'', ''running'')))
             OVER (PARTITION BY comparison_group, replicates > 0) AS open_at_least' || least || '
    FROM k GROUP BY configuration)
SELECT comparison_group, rank() OVER (PARTITION BY comparison_group ORDER BY value ' || way || ') AS rank, job,
       value, replicates, failed AS replicates_failed, open AS replicates_open,
       median AS replicates_median, value - reach AS replicates_low, value + reach AS replicates_high,
       stddev AS replicates_stddev, least AS replicates_min, most AS replicates_max,
       value / devices AS per_device
FROM (SELECT *, stddev / sqrt(replicates) * CASE replicates' || reaches || ' ELSE 2.0423 END AS reach FROM o)
WHERE replicates > 0 AND (open = 0 OR open_at_least > 0)
ORDER BY ' || places || 'comparison_group, value ' || way || ', job'
FROM part LEFT JOIN (SELECT objective, iif(maximise, 'DESC', 'ASC') AS way FROM current_sweep WHERE EXISTS (SELECT 1 FROM listed))
