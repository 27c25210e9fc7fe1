-- The line of a run's progress (src/report/progress.h), of the event, ?1, and what else it says there, of the best value, ?2,
-- and of the jobs per second, ?3, NULL: unknown. `room` is how wide the line of a terminal may be; NULL: it is for a log.
WITH
p AS (
    SELECT ?1 ->> 'total' AS total, ?1 ->> 'done' AS done, ?1 ->> 'ok' AS ok, ?1 ->> 'failed_before' AS failed_before,
        (?1 ->> 'failed') + (?1 ->> 'failed_before') AS failed, (?1 ->> 'skipped') - (?1 ->> 'failed_before') AS ok_before,
        ?1 ->> 'pruned' AS pruned, ?1 ->> 'held' AS held, ?1 ->> 'running' AS running, ?1 ->> 'waiting' AS waiting,
        ?1 ->> 'pending' AS pending, ?1 ->> 'is_left' AS is_left, (?1 ->> 'room') / 2 AS columns, (?1 ->> 'room') % 2 AS ascii),

-- Rounded down, so that 100 means all are done. A text on a terminal is a reminder, not the record.
words AS (
    SELECT iif(total <= 0 OR done >= total, 100, CAST(1.0 * done / total * 100 AS INTEGER)) AS percent,
        say('%d waiting (%s%s)', waiting, fit(?1 ->> 'waits', 0, 80 + coalesce(ascii, 0)),
            iif(?1 ->> 'waits_differ', ' and others', '')) AS waiting,
        CASE WHEN ?3 >= 100 THEN say('%.0f jobs/s', ?3) WHEN ?3 >= 1 THEN say('%.1f jobs/s', ?3)
            WHEN ?3 * 60 >= 1 THEN say('%.1f jobs/min', ?3 * 60) ELSE say('%0.2g jobs/h', ?3 * 3600) END AS rate,
        iif(?1 ->> 'eta_ms' IS NOT NULL AND is_left, 'eta ' || (?1 ->> 'eta'), NULL) AS eta,
        say('best %r%s (job %d)', ?2, iif(?1 ->> '$.best.unit' IS NULL, '', ' ' || iif(columns IS NULL,
            say('%p', ?1 ->> '$.best.unit'), fit(?1 ->> '$.best.unit', 0, 80 + ascii))), ?1 ->> '$.best.job') AS best
    FROM p),

-- Those that do not fit are left out, by `need`; the count is not.
part (n, need, text) AS (
    SELECT 1, 4, say('%3d%%', percent) FROM p, words WHERE total > 0
    UNION ALL SELECT 2, 1, say('%d/%d', done, total) FROM p
    UNION ALL SELECT 3, 2, say('%d failed', failed) FROM p WHERE failed > 0
    UNION ALL SELECT 4, 6, say('%d running', running) FROM p WHERE running > 0
    UNION ALL SELECT 5, 5, words.waiting FROM p, words WHERE p.waiting > 0
    UNION ALL SELECT 6, 7, rate FROM words WHERE ?3 IS NOT NULL
    UNION ALL SELECT 7, 3, eta FROM words WHERE eta IS NOT NULL
    UNION ALL SELECT 8, 8, best FROM words WHERE ?1 ->> 'best' IS NOT NULL),
kept AS (
    SELECT n, text, CAST(sum(columns(text) + 2) OVER (ORDER BY need) - 2 AS INTEGER) AS used FROM part),
line (text, bar) AS (
    SELECT group_concat(text, '  '), min(columns - max(used) - 2, 30) - 2
    FROM (SELECT * FROM kept, p WHERE n = 2 OR used <= columns ORDER BY n))

SELECT iif(total > 0 AND bar >= 8, '[' || replace(hex(zeroblob(bar * percent / 100)), '00', iif(ascii, '#', '█'))
        || replace(hex(zeroblob(bar - bar * percent / 100)), '00', iif(ascii, '.', '░')) || ']  ', '') || text
FROM p, words, line WHERE columns IS NOT NULL
UNION ALL SELECT say('%d/%d done (%d%%): %d ok', done, total, percent, ok + ok_before)
    || iif(ok_before > 0 AND (ok > 0 OR is_left), say(' (%d before)', ok_before), '')
    || iif(failed > 0, say(', %d failed', failed) || coalesce(' (' || (SELECT group_concat(words, ', ') FROM (
            SELECT say('%d %s', value, key) AS words FROM json_each(?1, '$.failure_classes')
            UNION ALL SELECT say('%d before', failed_before) WHERE failed_before > 0)) || ')', ''), '')
    || iif(pruned > 0, say(', %d pruned (need at least as much memory as a job that ran out of it)', pruned), '')
    -- The reason ends at its colon: the rest has been told.
    || iif(held > 0, say(', %d held (%p)', held, substr(?1 ->> 'held_for', 1, instr((?1 ->> 'held_for') || ':', ':') - 1)), '')
    || iif(running > 0, say(', %d running', running), '') || iif(p.waiting > 0, ', ' || words.waiting, '')
    || iif(pending > 0, say(', %d pending', pending), '')
    || iif(ok_before + failed_before > 0 AND ok + failed - failed_before + pending + held = 0 AND NOT is_left, ', nothing to run', '')
    || say('; %t elapsed', ?1 ->> 'elapsed_ms') || iif(?3 IS NULL, '', ', ' || rate)
    || iif(running > 0 OR p.waiting = 0, coalesce(', ' || eta, ''), '') || iif(?1 ->> 'best' IS NULL, '', '; ' || best)
FROM p, words WHERE columns IS NULL;
