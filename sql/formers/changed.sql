-- Keys of which no job of the file has a value that a former one has, with a value on both sides (NULL: absent), and how
-- many there are on each.
WITH
held AS MATERIALIZED (
    SELECT DISTINCT u.is_old, k.section, k.key, ifnull(m.value, 'absent') AS value -- which is no JSON
    FROM (SELECT DISTINCT section, key FROM temp.member) AS k JOIN temp.used AS u ON u.section = k.section
    LEFT JOIN temp.member AS m ON (m.is_old, m.section, m.spec, m.key) = (u.is_old, u.section, u.spec, k.key)),
common AS MATERIALIZED (SELECT section, key FROM held GROUP BY section, key, value HAVING count(*) > 1)

SELECT section, key, nullif(max(iif(is_old, value, NULL)), 'absent'), nullif(max(iif(is_old, NULL, value)), 'absent'),
    sum(is_old), sum(NOT is_old)
FROM held GROUP BY section, key
HAVING sum(is_old) > 0 AND sum(NOT is_old) > 0 AND (section, key) NOT IN (SELECT section, key FROM common)
ORDER BY section, key;
