-- All keys (3), then those whose values are truth values (1) or lists and objects (2) in every spec that has them, and
-- the view's own truth values. A bare column is called otherwise where another has the name. Few keys have such values,
-- or none, as the text tells.

WITH odd AS MATERIALIZED (SELECT DISTINCT s.kind, k.key FROM spec AS s NOT INDEXED, json_each(s.json) AS k
   WHERE (instr(s.json, 'true') OR instr(s.json, 'false') OR instr(s.json, '[') OR instr(substr(s.json, 2), '{'))
   AND k.type IN ('true', 'false', 'array', 'object')),
 typed AS (SELECT s.kind || '.' || k.key AS title, k.key AS name,
   iif(min(k.type IN ('true', 'false')), 1, iif(min(k.type IN ('array', 'object')), 2, 0)) AS type
   FROM odd AS o CROSS JOIN spec AS s NOT INDEXED ON s.kind = o.kind JOIN json_each(s.json) AS k ON k.key = o.key
   WHERE k.type <> 'null' GROUP BY 1)
SELECT name, 3 FROM pragma_table_info('results')
WHERE cid < (SELECT cid FROM pragma_table_info('results') WHERE name = 'state')
UNION ALL SELECT coalesce((SELECT c.name FROM pragma_table_info('results') AS c WHERE c.name = title), name), type
FROM typed WHERE type > 0
UNION ALL VALUES ('in_sweep', 1), ('partial', 1)
