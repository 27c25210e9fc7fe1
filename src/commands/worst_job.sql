-- The job whose output `tail --worst` prints, and what it says of it: of those that are ok the one with the worst value
-- of the objective, else the last that failed.
SELECT id, said FROM (
    SELECT j.id, printf('job %d: %s %.6g, the worst of %d', j.id, m.name, m.value, count(*) OVER ()) AS said,
        0 AS later, iif(s.maximise, m.value, -m.value) AS place
    FROM current_sweep AS s JOIN job AS j ON j.sweep_id = s.id AND j.state = 'ok'
    JOIN job_metric AS m ON m.job_id = j.id AND m.name = s.objective AND m.value IS NOT NULL
    UNION ALL
    SELECT j.id, printf('job %d: the last that failed; none is ok with a value of the objective', j.id),
        1, -j.attempt_id
    FROM current_sweep AS s JOIN job AS j ON j.sweep_id = s.id AND j.state = 'failed')
ORDER BY later, place, id LIMIT 1
