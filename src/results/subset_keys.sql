-- The specs of the JSON list of jobs ?1, a row per key: what stands before it, the key, a text or a literal as TOML
-- spells it.

SELECT iif(lag(s.id) OVER each IS s.id, '', char(10) || '[[' || s.kind || ']]' || char(10)), k.key,
   iif(k.type = 'text', k.value, NULL),
   CASE WHEN k.type IN ('true', 'false') THEN k.type WHEN k.type IN ('array', 'object') THEN '[' || k.value || ']'
    ELSE k.value END
FROM (SELECT DISTINCT s.* FROM json_each(?1) AS n JOIN job AS j ON j.id = n.value
    JOIN spec AS s ON s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id)) AS s, json_each(s.json) AS k
WHERE k.type <> 'null' WINDOW each AS (ORDER BY s.kind, s.id, k.id) ORDER BY s.kind, s.id, k.id
