-- Why an entry of [was] lets no result stand, NULL if it may: ?1 section (NULL: any), ?2 key, ?3 its value as JSON or
-- its former name, ?4 how many keys it changed, ?5 enum was_kind.
WITH
entry (section, key, text, changed, kind) AS (SELECT ?1, ?2, ?3, ?4, ?5),
kept AS MATERIALIZED (
    SELECT m.is_old, m.key, m.value FROM temp.member AS m, entry AS e WHERE ifnull(m.section = e.section, true))

SELECT CASE
    WHEN kind = 1 AND changed > 0 AND NOT EXISTS (
        SELECT 1 FROM kept WHERE NOT is_old AND (key, value) = (entry.key, text))
    THEN format('no job has %s = %s', key, text) || coalesce((
        SELECT format(' (if it was called %s: %s = { renamed_from = %s })', kept.key, entry.key, text)
        FROM kept WHERE is_old AND json_quote(kept.key) = entry.text LIMIT 1), '')
    WHEN kind = 2 AND changed = 0 AND NOT EXISTS (SELECT 1 FROM kept WHERE is_old AND key = entry.key)
    THEN format('no result has a key %s', text)
    WHEN kind = 3 AND changed = 0 AND EXISTS (SELECT 1 FROM kept WHERE is_old AND key = entry.key)
    THEN format('no result has %s = %s', key, text)
    END
FROM entry;
