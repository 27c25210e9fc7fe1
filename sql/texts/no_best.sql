-- Why `meshsweep best` has no job to show: a message a line, of the document of `status` ?1 and of that of `best` and what
-- stands beside it, ?2 {"best", "beside"} (src/report/saying.h).
WITH
this AS MATERIALIZED (
    SELECT ?1 ->> 'jobs' AS jobs, states ->> 'ok' AS ok, states ->> 'failed' AS failed,
        say('%d running, %d pending; see meshsweep status', states ->> 'running', states ->> 'pending') AS rest,
        ?2 ->> '$.beside.nearest' IS NULL AS want
    FROM (SELECT ?1 -> 'states' AS states))
SELECT CASE WHEN jobs = 0 THEN 'the database has no jobs, because no combination matched; meshsweep plan shows why'
    WHEN ok + failed = 0 THEN 'no job has finished yet: ' || rest
    WHEN ok = 0 THEN say('no job has succeeded: %d failed%s, ', failed, ' (' || (
        SELECT group_concat(say('%d %s', value, key), ', ') FROM json_each(?1, '$.failure_classes')) || ')') || rest
    ELSE 'there is no best job: ' || iif(want, say('%d are ok, but none%s has a value of %s%s', ok,
        iif(?2 ->> '$.best.subject_to[0]' IS NULL, '', ' that meets [sweep] subject_to'), ?2 ->> '$.best.objective',
        ': ' || (?2 ->> '$.best.unranked_why')), text('nearest', ?2 -> 'best', ?2 -> 'beside')) END FROM this
UNION ALL SELECT ?2 ->> '$.beside.excluded' FROM this WHERE ok > 0 AND want AND ?2 ->> '$.beside.excluded' IS NOT NULL
