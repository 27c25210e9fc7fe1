-- Whether jobs have a global batch among their keys. One is enough: all have the same keys, apart from those of blocks
-- of one section.

SELECT EXISTS (SELECT 1 FROM
    (SELECT derived, training_id, parallel_id FROM job WHERE sweep_id = (SELECT id FROM current_sweep) LIMIT 1) AS j
    LEFT JOIN spec AS t ON t.id = j.training_id LEFT JOIN spec AS p ON p.id = j.parallel_id
    JOIN json_each(json_array('$.global_batch', '$.train_batch_size')) AS k
    WHERE coalesce(json_extract(j.derived, k.value), json_extract(t.json, k.value), json_extract(p.json, k.value))
        IS NOT NULL)
