-- What a plan reads of a job, the one that the condition behind this names: its state and failure; attempts that failed
-- likewise and count (that were ok, for one that is ok where ?2 are wanted); whether an attempt has been started; its
-- number.
SELECT state, failure,
    CASE state
        WHEN 'failed' THEN (SELECT count(*) FROM attempt AS a WHERE a.job_id = job.id AND a.failure = job.failure
            AND a.blame IS NULL AND a.kind = 'trial')
        WHEN 'ok' THEN iif(?2 > 1, (SELECT count(*) FROM attempt AS a WHERE a.job_id = job.id AND a.state = 'ok'
            AND a.superseded IS NULL AND a.kind = 'trial'), 1)
    END,
    state = 'running' AND EXISTS (SELECT 1 FROM attempt AS a WHERE a.job_id = job.id AND a.state = 'running'
        AND a.kind = 'trial'),
    id
FROM job
