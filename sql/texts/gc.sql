-- The lines of `meshsweep gc`, of its document, ?1 (src/report/saying.h).
SELECT say('%10s  %l', say('%B', value ->> 'bytes'), value ->> 'path') FROM json_each(?1, '$.unowned')
UNION ALL SELECT say('%d leftover%s, %B%s', json_array_length(?1, '$.unowned'),
    iif(json_array_length(?1, '$.unowned') = 1, '', 's'), ?1 ->> 'bytes',
    iif(?1 ->> 'dry_run', ' (--dry-run: nothing was removed)', ''));
