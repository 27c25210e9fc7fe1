-- The line of `meshsweep import`: of its document, ?1, and of the table, ?2 (src/report/saying.h).
SELECT iif(?1 ->> 'rows' IS NULL,
    say('%s: %d row%s taken out', ?2 ->> 'path', ?1 ->> 'rows_taken_out', iif(?1 ->> 'rows_taken_out' = 1, '', 's')),
    say('%s: %d row%s: %d ok, %d failed, %d refused; %d job%s (%d new), %d attempt%s added, %d already there', ?2 ->> 'path',
        ?1 ->> 'rows', iif(?1 ->> 'rows' = 1, '', 's'), ?1 ->> 'ok', ?1 ->> 'failed',
        (SELECT total(value ->> 'rows') FROM json_each(?1, '$.refused')), ?1 ->> 'jobs', iif(?1 ->> 'jobs' = 1, '', 's'),
        ?1 ->> 'new_jobs', ?1 ->> 'attempts_added', iif(?1 ->> 'attempts_added' = 1, '', 's'), ?1 ->> 'already_there')
    || iif((?1 ->> 'rows_replaced') + (?1 ->> 'rows_taken_out') > 0,
        say('; of earlier rows %d replaced, %d taken out', ?1 ->> 'rows_replaced', ?1 ->> 'rows_taken_out'), '')
    || iif(?2 ->> 'dry_run', ' (nothing recorded)', ''));
