-- What is known of a model, "model_info" ?1 of the document of `status`: without ?2 ->> 'indent' the facts, else a line of each
-- ZeRO stage, which begins so (src/report/saying.h).
SELECT (SELECT group_concat(', ' || say(iif(value LIKE '%memory', '%B', '%r') || ' %s', ?1 ->> value, CASE value
        WHEN 'params' THEN 'parameters' WHEN 'activation_memory' THEN 'of activations per sample' WHEN 'device_memory' THEN 'a device'
        ELSE 'forward FLOPs per sample' END), '') FROM json_each('["params", "activation_memory", "device_memory", "fwd_flops"]')
    WHERE ?1 ->> value IS NOT NULL) AS line
WHERE ?2 ->> 'indent' IS NULL AND line IS NOT NULL
UNION ALL SELECT say('%sZeRO stage %d: ', ?2 ->> 'indent', value ->> 'zero_stage')
    || iif(value ->> 'rule' IS NULL, say('%B a device without activations', value ->> 'state_bytes'),
        say('excluded by %s: %l', value ->> 'rule', value ->> 'reason'))
    || CASE WHEN value ->> 'micro_batch' > 0 THEN say(', so that a micro-batch of %d fits at most', value ->> 'micro_batch')
        WHEN value ->> 'micro_batch' = 0 THEN ', so that none fits' ELSE '' END
    FROM json_each(?1, '$.stages') WHERE ?2 ->> 'indent' IS NOT NULL AND coalesce(value ->> 'rule', value ->> 'state_bytes') IS NOT NULL
