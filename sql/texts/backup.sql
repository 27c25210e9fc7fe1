-- The line of `meshsweep backup`, of its document, ?1 (src/report/saying.h).
SELECT say('%s: %d job%s, %d attempt%s', ?1 ->> 'path', ?1 ->> 'jobs', iif(?1 ->> 'jobs' = 1, '', 's'), ?1 ->> 'attempt_count',
    iif(?1 ->> 'attempt_count' = 1, '', 's'));
