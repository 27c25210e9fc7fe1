-- The gain of more devices: speed-up and efficiency against the smallest size, of jobs that are equal in all else. The
-- document of `meshsweep compare --scaling KEY --json`. ?1: the key that says the size; a key of no spec is a derived
-- one or, failing that, the number of devices, and the keys that say how many nodes and devices there are may differ
-- with it. ?2: the metric (NULL: the objective); ?3: further keys that may differ, with commas between them: the best
-- of each size counts. The global batch is the same (strong scaling); where no two sizes share one, each has its own
-- (weak scaling).
WITH
asked (name, maximise) AS MATERIALIZED (
    SELECT n.name, coalesce(d.better = 'max', iif(n.name = s.objective, s.maximise, NULL))
    FROM current_sweep AS s, (SELECT coalesce(?2, (SELECT objective FROM current_sweep)) AS name) AS n
    LEFT JOIN metric_definition AS d ON d.name = n.name),
free (key) AS MATERIALIZED (SELECT value FROM json_each('["' || replace(replace(?3, '"', ''), ',', '","') || '"]')),
key_of (id, kind, key, value) AS MATERIALIZED (
    SELECT s.id, s.kind, k.key, k.value FROM spec AS s, json_each(s.json) AS k),
is_key (yes) AS MATERIALIZED (SELECT EXISTS (SELECT 1 FROM key_of WHERE ?1 IN (key, kind || '.' || key))),
-- Sections where a name alone tells two specs apart: it is no label there.
twin (kind) AS MATERIALIZED (
    SELECT kind FROM spec GROUP BY kind, json_remove(json, '$.name', '$.description') HAVING count(*) > 1),
may_differ (key) AS MATERIALIZED (
    SELECT ?1 UNION ALL SELECT 'description'
    UNION ALL SELECT kind || '.name' FROM (SELECT DISTINCT kind FROM key_of) WHERE kind NOT IN twin
    UNION ALL SELECT key FROM free
    UNION ALL SELECT r.value FROM meta AS m, json_each(m.value) AS r WHERE m.name = 'replicate'
    UNION ALL SELECT value FROM is_key, json_each('["num_hosts", "num_nodes", "nodes", "num_devices_per_host",
        "gpus_per_node", "devices_per_node", "tasks_per_node", "cpus_per_task", "num_devices"]') WHERE NOT yes),
plain (id, same, setting) AS MATERIALIZED (
    SELECT id, json_group_array(json_array(key, value)) FILTER (WHERE NOT differs),
        json_group_array(json_array(key, value)) FILTER (WHERE differs)
    FROM (SELECT *, key IN may_differ OR kind || '.' || key IN may_differ AS differs FROM key_of ORDER BY id, key)
    GROUP BY id),
-- One row per measured run; x: the higher the better.
run (job, size, same, setting, batch, x) AS MATERIALIZED (
    SELECT j.id, 1.0 * CASE WHEN yes THEN (SELECT value FROM key_of WHERE ?1 IN (key, kind || '.' || key)
            AND id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id)) ELSE coalesce(j.derived ->> ?1, j.devices) END,
        json_array(c.same, m.same, t.same, p.same), json_array(c.setting, m.setting, t.setting, p.setting),
        1.0 * coalesce(j.derived ->> 'global_batch', j.derived ->> 'train_batch_size', (SELECT max(value) FROM key_of
            WHERE id IN (j.training_id, j.parallel_id) AND key IN ('global_batch', 'train_batch_size'))),
        iif(maximise, 1, -1) * ln(s.value)
    FROM asked, is_key, job AS j JOIN counted_attempt AS k ON k.job_id = j.id JOIN summary AS s ON s.attempt_id = k.id
    LEFT JOIN plain AS c ON c.id = j.cluster_id LEFT JOIN plain AS m ON m.id = j.model_id
    LEFT JOIN plain AS t ON t.id = j.training_id LEFT JOIN plain AS p ON p.id = j.parallel_id
    WHERE s.name = asked.name AND maximise IS NOT NULL AND j.sweep_id = (SELECT id FROM current_sweep) AND j.state = 'ok'
        AND typeof(s.value) IN ('integer', 'real') AND s.value > 0 AND s.value < 9e999),
tried AS MATERIALIZED (
    SELECT size, same, batch, setting, count(*) AS runs, avg(x) AS x,
        (sum(x * x) - sum(x) * sum(x) / count(*)) / nullif(count(*) - 1, 0) AS variance
    FROM run WHERE size > 0 GROUP BY size, same, batch, setting),
side AS MATERIALIZED (
    SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY size, same, batch ORDER BY x DESC, setting) AS place FROM tried)
    WHERE place = 1),
smallest (size) AS MATERIALIZED (SELECT min(size) FROM side),
both AS MATERIALIZED (
    SELECT b.size, a.batch IS b.batch AS strong, b.x - a.x AS gain, coalesce(ln(b.batch / a.batch), 0) AS work,
        max(a.variance, 0) / a.runs + max(b.variance, 0) / b.runs AS variance, a.runs + b.runs - 2 AS freedom
    FROM smallest JOIN side AS a ON a.size = smallest.size JOIN side AS b ON b.same = a.same AND b.size > a.size),
way (strong) AS MATERIALIZED (SELECT coalesce(max(strong), 1) FROM both),
-- In weak scaling a time is of more work.
pair AS MATERIALIZED (
    SELECT size, gain + iif(way.strong OR maximise, 0, work) AS gain, variance, freedom FROM both, way, asked
    WHERE NOT way.strong OR both.strong),
-- Half the 95 % interval by Student's t: over the pairs from three on, else over the repeats of both sides.
summed AS MATERIALIZED (
    SELECT size, count(*) AS pairs, avg(gain) AS gain,
        iif(count(*) > 2, sqrt(max(sum(gain * gain) - sum(gain) * sum(gain) / count(*), 0) / (count(*) - 1) / count(*)),
            iif(count(variance) = count(*), sqrt(sum(variance)) / count(*), NULL)) AS error,
        iif(count(*) > 2, count(*) - 1, sum(freedom)) AS f
    FROM pair GROUP BY size),
student (f, t) AS (VALUES (1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764)),
known AS MATERIALIZED (
    SELECT size, pairs, gain, error * coalesce(t, 1.95996 + 2.3723 / s.f + 2.8224 / s.f / s.f + 2.5556 / s.f / s.f / s.f) AS reach
    FROM summed AS s LEFT JOIN student AS q ON q.f = s.f
    UNION ALL SELECT size, (SELECT count(*) FROM side AS a WHERE a.size = smallest.size), 0, NULL FROM smallest
    WHERE size IS NOT NULL),
scaled AS MATERIALIZED (
    SELECT s.size, s.jobs, coalesce(k.pairs, 0) AS pairs, exp(gain) AS speedup, exp(gain - reach) AS low,
        exp(gain + reach) AS high, s.size / (SELECT size FROM smallest) AS ideal
    FROM (SELECT size, count(DISTINCT job) AS jobs FROM run WHERE size > 0 GROUP BY size) AS s LEFT JOIN known AS k USING (size)
    ORDER BY size),
why (text) AS (
    SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM current_sweep) THEN 'this database has no sweep yet; `meshsweep run` records one'
        WHEN NOT EXISTS (SELECT 1 FROM asked WHERE name IS NOT NULL)
            THEN 'the sweep has no objective; name the metric: --metric NAME'
        WHEN NOT EXISTS (SELECT 1 FROM asked WHERE maximise IS NOT NULL) THEN (SELECT name FROM asked)
            || ': no such metric, or it says neither better = "max" nor "min"'
        WHEN NOT (SELECT yes FROM is_key) AND ?1 NOT IN ('num_devices', 'devices')
            AND NOT EXISTS (SELECT 1 FROM job WHERE derived ->> ?1 IS NOT NULL)
            THEN '--scaling ' || ?1 || ': no such key; num_devices is the number of devices of a job'
        WHEN EXISTS (SELECT 1 FROM free WHERE NOT EXISTS (SELECT 1 FROM key_of WHERE free.key IN (key, kind || '.' || key)))
            THEN '--free ' || ?3 || ': no such key of a section'
        WHEN (SELECT count(*) FROM scaled) < 2 THEN '--scaling ' || ?1 || ': all measured jobs have the same size, or it is no number'
        WHEN NOT EXISTS (SELECT 1 FROM pair) THEN '--scaling ' || ?1 || ': no job has one at size ' || (SELECT
            printf('%g', size) FROM smallest) || ' that is equal in all else; --free KEY,KEY lets further keys differ' END),
said (text) AS (
    SELECT printf('%s by %s: %s scaling (%s), against size %g; 95 %% intervals', name, ?1, iif(strong, 'strong', 'weak'),
        CASE WHEN NOT strong THEN 'each size has its own global batch'
            WHEN EXISTS (SELECT 1 FROM side WHERE batch) THEN 'the global batch is the same'
            ELSE 'no key gives the global batch, so it may differ' END, size) FROM asked, way, smallest),
shown (size, jobs, pairs, speedup, "95 %", efficiency, "95 % of it") AS (
    SELECT printf('%g', size), jobs, pairs, iif(pairs, say('%.3g', speedup), 'none'),
        iif(low IS NULL, NULL, say('%.3g to %.3g', low, high)), iif(pairs, printf('%.1f %%', 100 * speedup / ideal), NULL),
        iif(low IS NULL, NULL, printf('%.1f to %.1f %%', 100 * low / ideal, 100 * high / ideal)) FROM scaled)

SELECT json_object('schema_version', 1, 'metric', name, 'unit', (SELECT nullif(unit, '') FROM metric_definition AS d WHERE
        d.name = asked.name), 'better', iif(maximise, 'max', 'min'), 'by', ?1, 'free', (SELECT json_group_array(key) FROM free),
    'scaling', iif((SELECT strong FROM way), 'strong', 'weak'),
    'sizes', (SELECT json_group_array(json_object('size', size, 'jobs', jobs, 'pairs', pairs, 'speedup', speedup,
        'speedup_low', low, 'speedup_high', high, 'efficiency', speedup / ideal, 'efficiency_low', low / ideal,
        'efficiency_high', high / ideal)) FROM scaled)) AS document, (SELECT text FROM why) AS why FROM asked;
