-- The line of a full training, one of "full_trainings" ?1 of the document of `status` (src/report/saying.h).
SELECT say('full training of job %d (attempt %d): %s', ?1 ->> 'job', ?1 ->> 'attempt', ?1 ->> 'state')
    || coalesce(' (' || (?1 ->> 'failure') || ')', '') || iif(?1 ->> 'duration_ms' IS NULL, '', say(' after %t', ?1 ->> 'duration_ms'))
    || iif(?1 ->> 'message' IS NULL, '', say(': %l', ?1 ->> 'message'))
