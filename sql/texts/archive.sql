-- The lines of `meshsweep archive`: of its document, ?1, and of what is done, ?2 (src/report/saying.h).
SELECT say('%d file%s', ?1 ->> 'file_count', iif(?1 ->> 'file_count' = 1, '', 's'))
    || CASE WHEN ?1 ->> 'dry_run'
            THEN say(', %B, would be %s (--dry-run: nothing was changed)', ?1 ->> 'bytes_before', ?2 ->> 'done')
        WHEN ?1 ->> 'file_count' = 0 THEN ' ' || (?2 ->> 'done')
        ELSE say(' %s: %B became %B', ?2 ->> 'done', ?1 ->> 'bytes_before', ?1 ->> 'bytes_after') END
UNION ALL SELECT say('%d samples ', ?1 ->> 'sample_count') || iif(?1 ->> 'dry_run', say('would be %s', ?2 ->> 'done'),
    say('%s: the database of %B has %B now, %B of it free', ?2 ->> 'done', ?1 ->> 'database_bytes_before',
        ?1 ->> 'database_bytes_after', ?1 ->> 'database_bytes_free')) WHERE ?1 ->> 'sample_count' > 0;
