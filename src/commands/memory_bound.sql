-- The condition that metric ?1 is at most the share ?2 of the key device_memory or, without one, of the most that a job
-- used; NULL: there is neither.
WITH device (bytes) AS (SELECT max(json ->> '$.device_memory') FROM spec WHERE kind = 'cluster_spec')
SELECT iif(typeof(bytes) IN ('integer', 'real'), printf('%s <= %d B', ?1, ?2 * bytes),
    (SELECT printf('%s <= %!.15g', ?1, ?2 * max(value)) FROM job_metric WHERE name = ?1 HAVING max(value) > 0))
FROM device
