-- What the metrics that both databases have differ in, a row each.

SELECT h.name, h.unit, s.unit, coalesce(h.better <> s.better, 0), coalesce(h.better, ''), coalesce(s.better, ''),
    h.hash IS NOT NULL AND s.hash IS NOT NULL AND (h.reading IS NOT s.reading OR h.imported IS NOT s.imported),
    coalesce(h.imported, h.expression, h.reading, ''), coalesce(s.imported, s.expression, s.reading, ''),
    h.expression IS NULL AND s.expression IS NULL AND (h.unit = '') <> (s.unit = '')
FROM main.metric_definition AS m JOIN main.definition AS h ON h.id = m.definition_id
    JOIN source.metric_definition AS n ON n.name = m.name JOIN source.definition AS s ON s.id = n.definition_id
ORDER BY h.name
