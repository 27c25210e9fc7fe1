-- What `predict` sets beside the prediction of the job with key ?1.
SELECT iif(j.witness_id IS NULL, j.state, 'pruned'), j.failure, m.measured, t.measured, j.predicted_memory, j.audit,
    j.attempt_id, j.id
FROM job AS j
LEFT JOIN observation AS m ON m.attempt_id = j.attempt_id AND m.quantity = 'memory' AND m.kind = 'measured'
LEFT JOIN observation AS t ON t.attempt_id = j.attempt_id AND t.quantity = 'time'
WHERE j.key = ?
