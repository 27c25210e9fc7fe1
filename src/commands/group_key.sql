-- The key that ?1 names as [sweep] group_by lists it; several, if several sections have it: one that is written out is
-- first.
SELECT DISTINCT name FROM (
    SELECT s.kind || '.' || k.key AS name, k.key AS bare FROM spec AS s, json_each(s.json) AS k
    UNION
    SELECT k.key, k.key FROM job AS j, json_each(j.derived) AS k
    WHERE j.id = (SELECT max(id) FROM job WHERE sweep_id = (SELECT id FROM current_sweep)))
WHERE (?1 IN (name, bare, 'derived.' || bare)) AND name NOT GLOB '*["'']*' ORDER BY name <> ?1, name
