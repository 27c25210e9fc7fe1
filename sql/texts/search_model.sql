-- The lines of `meshsweep search-model --count`, of its document, ?1 (src/report/saying.h). Numbers have up to 64 bits, more
-- than an integer here: they stay as they are written.
WITH
line (part, n, name, candidates, kept) AS (
    SELECT 1, key, value ->> 'layers', value -> 'candidates', value -> 'kept' FROM json_each(?1, '$.by_layers')
    UNION ALL SELECT 2, 0, 'all', ?1 -> 'candidates', ?1 -> 'kept'),
text (part, n, line) AS (
    SELECT 0, 0, 'layers           candidates' || iif(?1 ->> 'kept' IS NULL, '', '                 kept')
    UNION ALL SELECT part, n, say('%-6s %20s', CAST(name AS TEXT), candidates)
        || iif(?1 ->> 'kept' IS NULL, '', say(' %20s', kept)) FROM line
    UNION ALL SELECT 3, key, (value ->> 'name') || ' removed ' || (value -> 'removed') FROM json_each(?1, '$.filters'))
SELECT line FROM text ORDER BY part, n;
