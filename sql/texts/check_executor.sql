-- The lines of `meshsweep check --executor`: of its document, ?1, and of what stands beside it, ?2 (src/report/saying.h).
WITH
trial AS (
    SELECT t.key AS n, t.value AS t, t.value ->> 'what' AS what, t.value ->> 'why' AS why, b.value AS beside
    FROM json_each(?1, '$.tried') AS t JOIN json_each(?2, '$.tried') AS b USING (key))
SELECT iif(t ->> 'reference' IS NULL, say('%s: refused: %s', what, why),
    say('%s: job %s%s%s  its file: ', what, t ->> 'reference', iif(what = 'wrong-option', ': the option was not refused', ''), char(10))
    || CASE WHEN NOT (t ->> 'began') THEN 'nothing' WHEN t ->> 'exit_code' IS NULL THEN 'it began'
        ELSE say('exit code %d%s', t ->> 'exit_code', iif(beside ->> 'asked_to_end', ', asked to end', '')) END
    || coalesce(' on ' || (t ->> 'host'), '') || coalesce('; ' || why, '') || char(10) || '  queue: '
    || coalesce((SELECT group_concat(say('%s (%s)', value ->> 'word', value ->> 'means'), ', ') FROM json_each(t, '$.queue')),
        'never seen') || iif(beside ->> 'gone', ', gone', '') || char(10) || '  accounting: '
    || CASE WHEN t ->> 'accounting' IS NOT NULL THEN say('%s (%s)', t ->> '$.accounting.word', t ->> '$.accounting.means')
        WHEN ?2 ->> 'has_accounting' THEN 'nothing' ELSE 'there is none' END
    || say('%s  so %s%s', char(10), t ->> 'decision',
        iif(t ->> 'as_expected' OR what = 'wrong-option', '', ', which is not as it should be')))
FROM trial ORDER BY n;
