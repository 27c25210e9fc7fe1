-- The lines of `meshsweep plan` before and after those of its jobs: of a part of its document, ?1, and of what stands beside
-- it, ?2 (src/report/saying.h).
WITH
mark (n, name, sign) AS (VALUES (1, 'new', '+'), (2, 'done', '='), (3, 'retry', '~'), (4, 'failed', '!'), (5, 'running', '>'),
    (6, 'pruned', 'x'), (7, 'gone', '-')),
counted AS (SELECT *, ?1 ->> name AS jobs FROM mark WHERE n < 7),
reason AS (
    SELECT key AS n, value ->> 'mark' AS mark, value ->> 'why' AS why, value ->> 'jobs' AS jobs,
        ?2 ->> 'all' OR row_number() OVER (PARTITION BY value ->> 'mark' ORDER BY key) <= 8 AS is_shown
    FROM json_each(?1, '$.reasons')),
due (jobs) AS (SELECT (?1 ->> 'new') + (?1 ->> 'retry')),
predicted AS (
    SELECT value ->> 'memory' AS memory, value ->> 'time' AS time, value ->> 'device_hours' AS device_hours,
        value ->> 'step_device_seconds' AS seconds, value ->> 'may_not_fit' AS may_not_fit,
        value ->> 'does_not_fit' AS does_not_fit, value ->> 'audits' AS audits, value ->> 'note' AS note
    FROM json_each(?1) WHERE key = 'predicted' AND type = 'object'),
-- At most: all of them, or as many as a search tries that it has not tried yet, and what is to be tried again.
bound AS (
    SELECT ?1 ->> 'device_hours_max' AS most, trials, jobs > trials AND (finished OR ?2 ->> 'max_trials' > 0) AS chooses
    FROM due, (SELECT finished, (?1 ->> 'retry') + iif(finished, 0, max((?2 ->> 'max_trials') - (?2 ->> 'trials_made'), 0))
            AS trials FROM (SELECT ?2 ->> 'search_finished' IS NOT NULL AS finished))),
line (part, n, line) AS (
    SELECT 0, 0, say('%l: %d combination%s, %d matched, %d duplicate%s', ?1 ->> 'sweep', ?1 ->> 'combinations',
        iif(?1 ->> 'combinations' = 1, '', 's'), ?1 ->> 'matched', ?1 ->> 'duplicates', iif(?1 ->> 'duplicates' = 1, '', 's'))
        WHERE ?1 ->> 'sweep' IS NOT NULL
    UNION ALL SELECT 1, key, say('  %s %d by %s: %l', iif(value ->> 'warns', 'warned', 'excluded'), value ->> 'combinations',
        value ->> 'rule', value ->> 'why') FROM json_each(?2, '$.rules') WHERE value ->> 'combinations' > 0
    UNION ALL SELECT 2, 0, say('… and %d more; --all lists them', (?2 ->> 'jobs') - (?2 ->> 'shown'))
        WHERE ?2 ->> 'jobs' > ?2 ->> 'shown'
    UNION ALL SELECT 3, 0, say('%d job%s:', ?2 ->> 'jobs', iif(?2 ->> 'jobs' = 1, '', 's'))
        || (SELECT group_concat(say(' %s %d %s ', iif(jobs > 0, styled(name, sign), sign), jobs, name), '')
            FROM (SELECT * FROM counted WHERE name <> 'pruned' OR jobs > 0 ORDER BY n))
        || say(' - %d no longer in the file', ?1 ->> 'gone') WHERE ?1 ->> 'new' IS NOT NULL
    UNION ALL SELECT 4, 0, say('shard %s: %d matches belong to other shards', ?1 ->> 'shard', ?1 ->> 'jobs_of_other_shards')
        WHERE ?1 ->> 'shard' IS NOT NULL
    UNION ALL SELECT 5, r.n, say('  %s %d %s: %l', sign, jobs, mark, why) FROM reason AS r JOIN mark ON name = mark WHERE is_shown
    UNION ALL SELECT 6, 0, say('  … and %d more reasons; --all lists them', count(*)) FROM reason WHERE NOT is_shown
        HAVING count(*) > 0
    UNION ALL SELECT 7, 0, say('%l', ?2 ->> 'hint') WHERE ?2 ->> 'hint' IS NOT NULL
    UNION ALL SELECT 8, 0, iif(trials = 0 AND ?2 ->> 'search_finished' IS NOT NULL,
        say('the search %s has ended: %l', ?2 ->> 'search', ?2 ->> 'search_finished'),
        say('the search %s tries at most %.0f of them%s', ?2 ->> 'search', trials, iif(?2 ->> 'memory_first',
            ': first what saves memory, then speed, last the largest micro-batch', ''))) FROM bound WHERE chooses
    UNION ALL SELECT 9, 0, iif(most IS NULL, 'no bound on device-hours: some jobs have no time limit ([job] timeout)',
        say(iif(hours >= 1000, 'at most %a', iif(hours < 1, 'at most %.3g', 'at most %.1f'))
            || ' device-hours, if every job runs until its time limit%s', hours,
            iif(?2 ->> 'limits_grow', ', which is that of its first attempt', '')))
        FROM (SELECT most, iif(chooses, min(most, trials * (?2 ->> 'device_hours_each')), most) AS hours FROM bound)
        WHERE ?1 ->> 'new' IS NOT NULL
    UNION ALL SELECT 10, 0, note FROM predicted WHERE note IS NOT NULL
    UNION ALL SELECT 11, 0, iif(?2 ->> 'predicted_length' > 0,
        say('predicted: %a device-hours for %d of %d jobs', device_hours, ?2 ->> 'predicted_length', jobs),
        say('predicted: %.3g device-seconds for one step of each of %d of %d jobs; a key `steps` would give the whole time',
            seconds, time, jobs)) FROM predicted, due WHERE ?2 ->> 'predicts' AND max(time, ?2 ->> 'predicted_length') > 0
    UNION ALL SELECT 12, 0, say('predicted: %d jobs may not fit, %d do not fit; %d of them run to audit pruning', may_not_fit,
        does_not_fit, audits) FROM predicted WHERE ?2 ->> 'predicts' AND may_not_fit + does_not_fit > 0
    UNION ALL SELECT 13, 0, say('no memory is predicted for %d jobs: keys contradict each other or are missing (meshsweep predict '
        || 'says which)', jobs - memory) FROM predicted, due WHERE ?2 ->> 'predicts' AND memory < jobs
    UNION ALL SELECT 14, 0, ?2 ->> 'unreached' WHERE ?2 ->> 'unreached' IS NOT NULL
    UNION ALL SELECT 15, 0, 'the file has no [job] command; `run` needs one, in the file or with --command'
        WHERE NOT (?2 ->> 'has_command'))
SELECT line FROM line ORDER BY part, n;
