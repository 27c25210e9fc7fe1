-- The lines of `meshsweep upgrade`: of its document, ?1, and of what versions have brought, ?2 (src/report/saying.h).
SELECT iif(?1 ->> 'schema_before' = ?1 ->> 'schema',
    say('%s: its schema version is %d, this program''s: nothing to do', ?1 ->> 'path', ?1 ->> 'schema'),
    say('%s: schema version %d is now %d, which has more of:%s%s', ?1 ->> 'path', ?1 ->> 'schema_before', ?1 ->> 'schema',
        char(10), rtrim(?2 ->> 'changes', char(10))));
