-- The lines of `meshsweep replay`, tables in Markdown: of its document ?1 and, where groups are wanted, of the best of
-- each, ?2 (src/report/saying.h). A number that is not known is "-".
WITH
strategy AS MATERIALIZED (SELECT key AS n, value AS s, value ->> 'strategy' AS name FROM json_each(?1, '$.strategies')),
row (n, k, s) AS (
    SELECT n, -1, s FROM strategy
    UNION ALL SELECT n, g.key, g.value FROM strategy, json_each(s, '$.groups') AS g WHERE json_array_length(?2) > 0),
of_row AS (
    SELECT n, k, strategy.s AS whole, row.s AS s, name, row.s ->> '$.trials.mean' AS trials, row.s ->> '$.trials.low' AS low,
        row.s ->> '$.trials.high' AS high, row.s ->> '$.trials.median' AS median, row.s ->> '$.trials.p90' AS p90,
        row.s ->> '$.failed_trials.mean' AS failed FROM row JOIN strategy USING (n)),
joint AS (
    SELECT n, j.key AS k, name, value ->> 'strategy' AS other, value ->> '$.loss.mean' AS mean, value ->> '$.loss.low' AS low,
        value ->> '$.loss.high' AS high, value ->> '$.loss.median' AS median
    FROM strategy, json_each(s, '$.loss_against_joint') AS j),
more (place, number, one, many) AS (VALUES
    (1, ?1 ->> 'further_replicates', 'more job is a replicate of these: a trial runs all of them, and their mean counts',
        'more jobs are replicates of these: a trial runs all of them, and their mean counts'),
    (2, ?1 ->> 'infeasible', 'job ran but does not meet [sweep] subject_to, so it counts as failed',
        'jobs ran but do not meet [sweep] subject_to, so they count as failed'),
    (3, ?1 ->> 'excluded_by_rules', 'job excluded by rules', 'jobs excluded by rules'),
    (4, ?1 ->> 'not_measured', 'job not measured', 'jobs not measured')),
line (part, n, k, line) AS (
    SELECT 0, 0, 0, say('%d group%s, %d configuration%s, %.0f %% of them failed; %d group%s with none that runs%s; %d search%s of '
            || 'each group by %s', ?1 ->> 'group_count', iif(?1 ->> 'group_count' = 1, '', 's'), ?1 ->> 'jobs',
        iif(?1 ->> 'jobs' = 1, '', 's'),
        100.0 * (?1 ->> 'failed_jobs') / (?1 ->> 'jobs'), ?1 ->> 'groups_without_runnable_job',
        iif(?1 ->> 'groups_without_runnable_job' = 1, '', 's'),
        coalesce((SELECT group_concat(say('; %d %s', number, iif(number = 1, one, many)), '')
            FROM (SELECT * FROM more WHERE number > 0 ORDER BY place)), ''),
        ?1 ->> 'seeds', iif(?1 ->> 'seeds' = 1, '', 'es'), ?1 ->> 'objective')
    UNION ALL VALUES (1, 0, 0, ''), (1, 1, 0, '| strategy | trials (95 %) | median | p90 | failed | arrived | '
        || 'slowdown after 1, 3, 5, 10 | ends after | device-hours |'), (1, 2, 0, '|---|---|---|---|---|---|---|---|---|')
    UNION ALL SELECT 2, n, k, iif(k < 0, say('| %s | %.2f', name, trials)
            || iif(low IS NULL, '', say(' (%.2f to %.2f)', low, high)) || say(' | %.0f | %.0f | %.2f | %.0f %% |', median, p90, failed,
                100.0 * (whole ->> 'arrived') / (whole ->> 'searches')),
            say('| %s, %s | %.2f | %.0f | %.0f | %.2f | |', name, s ->> 'group', trials, median, p90, failed))
        || (SELECT ' ' || group_concat(iif(value ->> 'mean' IS NULL, '-', say('%.2f', value ->> 'mean')), ', ') || ' |'
            FROM json_each(s, '$.slowdown'))
        || say(' %.1f%s | %s |', s ->> '$.ends_after_trials.mean', iif(s ->> '$.ends_at_slowdown.mean' IS NULL, '',
            say(' at %.2f', s ->> '$.ends_at_slowdown.mean')), iif(s ->> '$.hours.mean' IS NULL, '-', say('%.2f', s ->> '$.hours.mean'))) FROM of_row
    UNION ALL SELECT 3, -1, 0, say('%s| group | best %s | job |%s|---|---|---|', char(10), ?1 ->> 'objective', char(10))
        WHERE json_array_length(?2) > 0
    UNION ALL SELECT 3, key, 0, say('| %s | ', value ->> 'group')
        || iif(value ->> 'best_value' IS NULL, '- | - |', say('%.6g | %d |', value ->> 'best_value', value ->> 'best_job')) FROM json_each(?2)
    UNION ALL SELECT 4, n, k, say('%s%s finds %.1f %% %s than %s among all keys at once with as many trials (%shalf of the searches: '
            || '%.1f %% %s, or less)', char(10), name, 100 * abs(mean), iif(mean < 0, 'better', 'worse'), other, iif(low IS NULL, '',
        say('95 %%: %.1f %% %s to %.1f %% %s; ', 100 * abs(low), iif(low < 0, 'better', 'worse'), 100 * abs(high),
            iif(high < 0, 'better', 'worse'))), 100 * abs(median), iif(median < 0, 'better', 'worse')) FROM joint)
SELECT line FROM line ORDER BY part, n, k;
