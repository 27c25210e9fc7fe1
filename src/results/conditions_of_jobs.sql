-- The conditions of the JSON list of jobs ?1, in its order: each key that is not the same in all specs IS what it is.

WITH key (kind, name, path) AS MATERIALIZED (SELECT s.kind, k.key, '$."' || k.key || '"'
   FROM spec AS s, json_each(s.json) AS k WHERE instr(k.key, '"') = 0 AND instr(k.key, '\') = 0
   GROUP BY s.kind, k.key HAVING count(DISTINCT k.value) > 1
    OR count(*) < (SELECT count(*) FROM spec AS n WHERE n.kind = s.kind))
SELECT coalesce((SELECT group_concat(key.kind || '."' || key.name || '" IS '
   || quote(json_extract(s.json, key.path)), ' AND ') FROM key JOIN spec AS s ON s.kind = key.kind
   AND s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id)), 'true')
FROM json_each(?1) AS n JOIN job AS j ON j.id = n.value ORDER BY n.key
