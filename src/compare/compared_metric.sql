-- The metric ?1, or the objective: its name and unit, whether it is the objective, whether more is better (NULL: not
-- known), whether there is such a metric, and whether it is derived.

SELECT coalesce(?1, s.objective), coalesce(d.unit, ''), coalesce(?1, s.objective) IS s.objective,
    CASE WHEN coalesce(?1, s.objective) IS s.objective THEN s.maximise ELSE d.better = 'max' END,
    d.name IS NOT NULL OR EXISTS (SELECT 1 FROM summary WHERE name = ?1), d.expression IS NOT NULL
FROM current_sweep AS s LEFT JOIN metric_definition AS d ON d.name = coalesce(?1, s.objective)
