-- The condition that holds for the combination of job ?1 and no other: by the sweep's keys (?2: section, name, whether
-- its specs differ in it; src/cli/match_words.h) and of those that it has no more, if the recorded specs differ in
-- them. ?3: what stands for a secret.
WITH
known (kind, name, differs) AS MATERIALIZED (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(?2)
    WHERE instr(value ->> 1, '"') = 0 AND instr(value ->> 1, '\') = 0),
had AS (
    SELECT s.kind, s.json FROM job AS j
    JOIN spec AS s ON s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id) WHERE j.id = ?1),
own AS (
    SELECT had.kind, k.key AS name, k.type, k.value FROM had, json_each(had.json) AS k
    WHERE instr(k.key, '"') = 0 AND instr(k.key, '\') = 0)
SELECT coalesce(group_concat(kind || '."' || name || '" IS ' || quote(value), ' AND '), 'true') FROM (
    SELECT kind, name, json_extract(json, '$."' || name || '"') AS value FROM known JOIN had USING (kind) WHERE differs
    UNION ALL
    SELECT own.kind, own.name, value FROM own JOIN known USING (kind, name)
    WHERE NOT differs AND type NOT IN ('array', 'object', 'null') AND instr(value, ?3) = 0
    UNION ALL
    SELECT kind, name, value FROM own
    WHERE (kind, name) NOT IN (SELECT kind, name FROM known) AND EXISTS (SELECT 1 FROM spec AS o WHERE o.kind = own.kind
        AND json_extract(o.json, '$."' || own.name || '"') IS NOT own.value))
