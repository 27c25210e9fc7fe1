-- Former jobs and the file's jobs whose keys are equal.
DROP TABLE IF EXISTS temp.content;
DROP TABLE IF EXISTS temp.is_now;
DROP TABLE IF EXISTS temp.was;
DROP TABLE IF EXISTS temp.pair;
CREATE TEMP TABLE content AS
    SELECT is_old, section, spec, dense_rank() OVER (PARTITION BY section ORDER BY text) AS id
    FROM (SELECT is_old, section, spec, group_concat(key || '=' || value, char(10)) AS text
          FROM (SELECT * FROM temp.member ORDER BY is_old, section, spec, key) GROUP BY is_old, section, spec);
CREATE INDEX temp.content_spec ON content (is_old, section, spec);
CREATE TEMP TABLE is_now AS SELECT key, has_results,
    ifnull((SELECT id FROM temp.content WHERE (is_old, section, spec) = (0, 'cluster_spec', a.cluster_spec)), 0) AS cluster_spec,
    ifnull((SELECT id FROM temp.content WHERE (is_old, section, spec) = (0, 'model', a.model)), 0) AS model,
    ifnull((SELECT id FROM temp.content WHERE (is_old, section, spec) = (0, 'training_spec', a.training_spec)), 0) AS training_spec,
    ifnull((SELECT id FROM temp.content WHERE (is_old, section, spec) = (0, 'parallel_spec', a.parallel_spec)), 0) AS parallel_spec
    FROM temp.asked AS a;
CREATE TEMP TABLE was AS SELECT job_id, key,
    ifnull((SELECT id FROM temp.content WHERE (is_old, section, spec) = (1, 'cluster_spec', o.cluster_spec)), 0) AS cluster_spec,
    ifnull((SELECT id FROM temp.content WHERE (is_old, section, spec) = (1, 'model', o.model)), 0) AS model,
    ifnull((SELECT id FROM temp.content WHERE (is_old, section, spec) = (1, 'training_spec', o.training_spec)), 0) AS training_spec,
    ifnull((SELECT id FROM temp.content WHERE (is_old, section, spec) = (1, 'parallel_spec', o.parallel_spec)), 0) AS parallel_spec
    FROM temp.former AS o;
CREATE INDEX temp.was_content ON was (cluster_spec, model, training_spec, parallel_spec);
CREATE TEMP TABLE pair AS SELECT w.job_id, w.key AS was, n.key AS now, n.has_results
    FROM temp.is_now AS n CROSS JOIN temp.was AS w USING (cluster_spec, model, training_spec, parallel_spec);
