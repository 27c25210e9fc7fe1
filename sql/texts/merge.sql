-- The line of `meshsweep merge` and `pull`, of their document, ?1 (src/report/saying.h).
SELECT say('%s: %d new job%s, %d new attempt%s', ?1 ->> 'path', ?1 ->> 'new_jobs', iif(?1 ->> 'new_jobs' = 1, '', 's'),
    ?1 ->> 'attempts_added', iif(?1 ->> 'attempts_added' = 1, '', 's'));
