-- The specs of the attempt ?1, and what was seen of it from outside.

SELECT c.json, m.json, t.json, p.json, iif(a.unwatched_ms, NULL, a.duration_ms / 1000.0),
    (a.user_ms + a.system_ms) / 1000.0, a.max_rss, (SELECT count(*) FROM attempt AS n
        WHERE n.job_id = a.job_id AND n.number <= a.number AND n.state <> 'claimed' AND n.kind = 'trial'),
    a.state = 'ok'
FROM attempt AS a JOIN job AS j ON j.id = a.job_id
    LEFT JOIN spec AS c ON c.id = j.cluster_id LEFT JOIN spec AS m ON m.id = j.model_id
    LEFT JOIN spec AS t ON t.id = j.training_id LEFT JOIN spec AS p ON p.id = j.parallel_id
WHERE a.id = ?1
