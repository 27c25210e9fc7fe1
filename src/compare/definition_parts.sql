-- The parts that two numbers of the metric ?1 must have in common, a row each; from a time when it was not recorded,
-- the unit alone.

SELECT k.key, k.value FROM metric_definition AS m LEFT JOIN definition AS d ON d.id = m.definition_id,
    json_each(json_object('unit', m.unit, 'reader', coalesce(d.expression, d.imported, d.reading), 'scale', d.scale,
        'take', d.take, 'warm-up', d.warmup, 'first step', d.first_step, 'last step', d.last_step)) AS k
WHERE m.name = ?1 AND (d.hash IS NOT NULL OR k.key = 'unit') ORDER BY k.id
