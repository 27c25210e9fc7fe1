-- The numbers that are to be brought under the definitions in force, and what is other under the old one (w.was) than
-- under the new one (w.now). A unit in the text is looked at only where there is one to convert it to; where none is
-- looked at, another unit says of the same text that it means something else, as it will of the next job's.

DROP VIEW IF EXISTS temp.passage;
DROP TABLE IF EXISTS temp.renewal;
CREATE TEMP TABLE renewal (attempt_id, name, is_import, is_there, is_of_sweep, was, now, note, same DEFAULT 0);
CREATE TEMP VIEW passage AS SELECT
    f.hash IS NOT NULL AND (CASE WHEN w.is_import THEN coalesce(f.imported, '') <> coalesce(t.imported, '')
        ELSE coalesce(f.reading, '') <> coalesce(t.reading, '') OR (instr(t.reading, '"written_unit":true') > 0
        AND (coalesce(f.unit, '') = '') <> (t.unit = '')) END
        OR (w.is_of_sweep IS NOT NULL AND f.unit <> t.unit AND '' NOT IN (f.unit, t.unit)
        AND (w.is_import OR (f.scale = t.scale AND instr(t.reading, '"written_unit":true') = 0
        AND (SELECT directory FROM attempt WHERE id = w.attempt_id) IS NOT NULL)))) AS other_reading,
    f.hash IS NOT NULL AND NOT w.is_import AND f.scale <> t.scale AS other_scale,
    coalesce(f.warmup, 0) <> t.warmup OR coalesce(f.first_step, 0) <> t.first_step
        OR coalesce(f.last_step, 0) <> t.last_step AS other_filter,
    coalesce(f.take, 'median') <> t.take AS other_take,
    coalesce('`' || f.imported || '`' || iif(f.unit IN ('', t.unit), '', ' in ' || f.unit), 'another column')
        AS imported, coalesce(f.unit, '') AS from_unit, t.unit AS to_unit,
    coalesce(f.scale, 1) AS from_scale, t.scale AS to_scale, t.warmup, t.first_step, t.last_step, t.take,
    w.attempt_id, w.name, w.is_import, w.is_there, w.is_of_sweep, w.was, w.now, w.note
FROM temp.renewal AS w LEFT JOIN main.definition AS f ON f.id = w.was JOIN main.definition AS t ON t.id = w.now;
