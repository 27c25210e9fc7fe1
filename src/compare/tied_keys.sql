-- The keys of the list ?3 that the sweep file connects with the key ?1, and with these in turn: the micro-batch first,
-- for it affects a step most, so if either of two keys could stay equal, it should. ?2: what connects keys,
-- [{"name": of the derived key that it is, "words": names in an expression} or {"keys": of an axis}, …].

WITH RECURSIVE
written (g, name, word) AS MATERIALIZED (
    SELECT g.key, g.value ->> 'name', w.value FROM json_each(?2) AS g, json_each(g.value, '$.words') AS w),
-- A derived key is read with all that it is made from.
read (g, word) AS (
    SELECT g, word FROM written UNION SELECT read.g, d.word FROM read JOIN written AS d ON d.name = read.word),
connected (g, key) AS MATERIALIZED (
    SELECT g, substr(word, length(rtrim(word, replace(word, '.', ''))) + 1) FROM read
    UNION SELECT g.key, k.value FROM json_each(?2) AS g, json_each(g.value, '$.keys') AS k),
tied (key) AS (
    SELECT ?1 UNION SELECT b.key FROM tied JOIN connected AS a ON a.key = tied.key JOIN connected AS b ON b.g = a.g
    WHERE b.key IN (SELECT value FROM json_each(?3)))
SELECT key FROM tied WHERE key <> ?1 ORDER BY key LIKE '%micro%' DESC, key
