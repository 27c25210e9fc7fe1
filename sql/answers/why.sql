-- The database's knowledge of the job with the key ?1: a document, its attempts, the searches' choices of it, and the
-- keys in which the job by which it was pruned differs. No row: there is no such job.
WITH this AS MATERIALIZED (SELECT * FROM job WHERE key = ?1),
word AS (
    SELECT j.id AS job, s.kind, k.key AS name, iif(k.type IN ('true', 'false'), k.type, k.value) AS value
    FROM this JOIN job AS j ON this.witness_id IS NOT NULL AND j.id IN (this.id, this.witness_id)
    JOIN spec AS s ON s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id), json_each(s.json) AS k)
SELECT json_object('job', this.id, 'state',
        CASE WHEN witness_id IS NOT NULL THEN 'pruned' WHEN held IS NOT NULL THEN 'held' ELSE state END,
        'failure', nullif(failure, ''), 'why_held', nullif(held, ''), 'pruned_by', witness_id) AS document,
    (SELECT json_group_array(json(attempt)) FROM (
        SELECT json_object('attempt', a.number, 'state', a.state, 'failure', nullif(a.failure, ''),
            'message', coalesce(nullif(a.message, ''), (SELECT 'excluded: ' || why FROM excluded_attempt WHERE attempt_id = a.id)),
            'duration_ms', a.duration_ms,
            'measured_elsewhere', iif(a.executor = 'import', nullif(a.log_tail, ''), NULL)) AS attempt
        FROM attempt AS a WHERE a.job_id = this.id AND a.kind = 'trial' ORDER BY a.number)) AS attempts,
    (SELECT json_group_array(json(choice)) FROM (
        SELECT json_object('strategy', nullif(s.strategy, ''), 'reason', nullif(t.reason, '')) AS choice
        FROM trial AS t JOIN search AS s ON s.id = t.search_id
        WHERE t.job_id = this.id AND t.asked IS NOT NULL ORDER BY t.id)) AS choices,
    (SELECT group_concat(name || '=' || value, ' ') FROM word AS a WHERE a.job = witness_id
        AND NOT EXISTS (SELECT 1 FROM word AS b WHERE b.job = this.id AND b.kind = a.kind AND b.name = a.name
                        AND b.value IS a.value)) AS witness
FROM this;
