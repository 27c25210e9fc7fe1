-- How job ?1 was started: of the attempt that represents it, or else of its newest one, rows of the members of struct
-- job_launch (src/results/job_record.c), which are numbered.
WITH
a AS MATERIALIZED (
    SELECT a.*, r.provenance FROM attempt AS a LEFT JOIN runner AS r ON r.id = a.runner_id
    WHERE a.job_id = ?1 AND a.command IS NOT NULL AND a.kind = 'trial'
    ORDER BY a.id IS (SELECT attempt_id FROM job WHERE id = ?1) DESC, a.number DESC LIMIT 1),
part (member, n, value) AS (
    SELECT 0, k.id, k.value FROM a, json_each(a.command) AS k
    UNION ALL SELECT 1, k.id, k.key || '=' || k.value FROM a, json_each(a.environment) AS k WHERE k.key <> 'PWD'
    UNION ALL SELECT 2, row_number() OVER (ORDER BY path), path FROM attempt_file WHERE attempt_id = (SELECT id FROM a)
    UNION ALL SELECT 3, 0, coalesce(environment ->> '$.PWD', provenance ->> '$.directory') FROM a
    UNION ALL SELECT 4, 0, (SELECT json_object('cluster_spec', json(c.json), 'model', json(m.json),
            'training_spec', json(t.json), 'parallel_spec', json(p.json), 'derived', json(j.derived))
        FROM job AS j LEFT JOIN spec AS c ON c.id = j.cluster_id LEFT JOIN spec AS m ON m.id = j.model_id
        LEFT JOIN spec AS t ON t.id = j.training_id LEFT JOIN spec AS p ON p.id = j.parallel_id WHERE j.id = ?1)
    UNION ALL SELECT 5, 0, provenance ->> '$.environment.PATH' FROM a
    UNION ALL SELECT 6, 0, directory FROM a
    UNION ALL SELECT 7, 0, coalesce(o.log_tail, '') FROM job AS j JOIN attempt AS o ON o.id = j.attempt_id
    WHERE j.id = ?1 AND o.executor = 'import'
    -- Names of files are bytes: where they are no text, the runner has their hexadecimal digits, too.
    UNION ALL SELECT 8, 0, provenance ->> '$.directory_bytes' FROM a WHERE environment ->> '$.PWD' IS NULL)
SELECT member, value FROM part WHERE value IS NOT NULL ORDER BY member, n
