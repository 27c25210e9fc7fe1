-- Names the experiments that have their ds_configs: "z2_gas1_tmbspg8", "job7" where those say nothing, with the cluster
-- if there are several.
UPDATE temp.experiment SET stage = json_extract(json, '$.zero_optimization.stage') + 0
WHERE json_type(json, '$.zero_optimization.stage') IN ('integer', 'real')
    AND json_extract(json, '$.zero_optimization.stage') IN (0, 1, 2, 3);

UPDATE temp.experiment SET name = iif((SELECT count(role) FROM current_sweep), 'profile_model_info', coalesce(
    (SELECT substr(group_concat('_' || p.title || trim(json -> p.path, '"'), ''), 2) FROM
        (SELECT 'z' AS title, '$.zero_optimization.stage' AS path UNION ALL
         SELECT 'gas', '$.gradient_accumulation_steps' UNION ALL
         SELECT 'tmbspg', '$.train_micro_batch_size_per_gpu') AS p
     WHERE json_type(json, p.path) NOT IN ('object', 'array') AND json -> p.path <> '"auto"'), 'job' || job_id))
    || iif((SELECT count(DISTINCT nodes || ' ' || gpus) FROM temp.experiment) > 1, printf('_n%dg%d', nodes, gpus), '');

-- To equal names is added what their ds_configs differ in, "_offload_optimizer-cpu", but for what follows from other
-- keys or says only where the profile is written: keys of the first one, then of the others, each by the last name
-- that is specific. Names stay equal where nothing differs, or that does not fit into a file's name.
UPDATE temp.experiment SET name = k.name FROM (
    WITH RECURSIVE leaf AS MATERIALIZED (
        SELECT x.name, x.n, t.id, t.fullkey, x.json -> t.fullkey AS text, iif(t.key IN ('device', 'enabled')
            AND t.path <> '$', replace(replace(t.path, rtrim(t.path, replace(t.path, '.', '')), ''), '"', ''), t.key)
            AS title
        FROM temp.experiment AS x JOIN json_tree(x.json) AS t
        WHERE t.type NOT IN ('object', 'array') AND t.fullkey NOT LIKE '%[%'
            AND replace(t.fullkey, '"', '') <> '$.train_batch_size'
            AND replace(t.fullkey, '"', '') NOT GLOB '$.autotuning*'),
    differing AS (
        SELECT l.name, l.fullkey, min(l.n) AS first, l.id FROM leaf AS l JOIN
            (SELECT name, count(*) AS members FROM temp.experiment GROUP BY name HAVING count(*) > 1) AS s USING (name)
        GROUP BY l.name, l.fullkey HAVING count(*) < s.members OR count(DISTINCT l.text) > 1),
    clean (text, rest, done) AS (
        SELECT text, replace(text, '"', ''), '' FROM leaf UNION
        SELECT text, substr(rest, 2), done || iif(rest GLOB '[A-Za-z0-9._+-]*', substr(rest, 1, 1),
            substr('----', 1, length(CAST(substr(rest, 1, 1) AS BLOB)))) FROM clean WHERE rest <> '')
    SELECT n, name || group_concat('_' || title || '-' || done, '') AS name FROM (
        SELECT l.n, l.name, l.title, c.done FROM differing AS d JOIN leaf AS l USING (name, fullkey)
        JOIN clean AS c ON c.text = l.text AND c.rest = '' ORDER BY l.n, d.first, d.id)
    GROUP BY n) AS k
WHERE k.n = experiment.n AND length(CAST(k.name AS BLOB)) <= 160;

UPDATE temp.experiment SET name = name || '_' || substr(key, 1, 8)
WHERE name IN (SELECT name FROM temp.experiment GROUP BY name HAVING count(*) > 1);
