-- What `compare` has compared, and in the views what it says of that, line by line, and the rows of its documents
-- (src/report/saying.h). What is not known is NULL.

-- --- pairs of jobs by a key ---

-- Value `a` compared with value `b`; `ratios`, a list in JSON, are of b's metric over a's.
CREATE TABLE pair (n INTEGER PRIMARY KEY, by, a, b, pairs, median, low, high, confidence, interval, minimum, quarter,
    three_quarters, maximum, verdict, only_a, only_b, neither, open, without_ratio, without_choice, ratios, example_only_a,
    example_only_b);

-- One row. free: a list in JSON; least, interval_least: so many pairs are needed; chosen: one of several on a side.
CREATE TABLE asked (metric, unit, is_objective, maximise, section, by, free, free_was_found, pairs_alone, says_batch, together,
    chosen, least, interval_least);

CREATE VIEW subject AS SELECT metric, unit, iif(is_objective, iif(maximise, 'max', 'min'), NULL) AS better, section, by, free,
    free_was_found, together FROM asked;
CREATE VIEW comparisons AS SELECT a, b, pairs, median, low, high, confidence, interval,
    iif(interval IS NULL, 'fewer than 3 pairs', NULL) AS no_interval, minimum, quarter, three_quarters, maximum, verdict,
    verdict IN ('lower', 'higher') AS told_apart, only_a, only_b, neither, open, without_ratio, without_choice, ratios
    FROM pair ORDER BY n;

CREATE VIEW pair_line (n, part, line) AS
WITH
free (keys) AS (SELECT group_concat(say('%l', value), ', ') FROM asked, json_each(free))
SELECT 0, 0, say('%s%s by %l', metric,
        iif(is_objective, iif(maximise, ' (higher is better)', ' (lower is better)'), ''), by)
    || iif(keys IS NULL, '', iif(free_was_found,
        say(': too few pairs differ in it alone (%d, at least %d are needed), so it compares', pairs_alone, least), ',')
        || ' the best of each side over: ' || keys
        || iif(free_was_found, ' (tied to it by rules and derived keys)', ''))
    || ': pairs equal in everything else' || CASE
        -- Steps of different global batches do different work.
        WHEN by IN ('global_batch', 'train_batch_size')
            THEN '; their global batches differ, so their steps do different amounts of work'
        WHEN NOT says_batch AND by IN ('micro_batch', 'micro_batch_size', 'train_micro_batch_size_per_gpu', 'dp',
            'gradient_accumulation', 'gradient_accumulation_steps', 'num_hosts', 'num_devices_per_host', 'cluster_spec')
            THEN '; no key gives the global batch, so it may differ'
        ELSE ' and in the global batch' END
    FROM asked, free
UNION ALL SELECT n, 1, say('%s%l against %l: %d pair%s ran on both sides', char(10), b, a, pairs, iif(pairs = 1, '', 's')) FROM pair
UNION ALL SELECT n, 2, say('  ratio: median %.4g', median)
    || iif(interval IS NULL, say(', no interval, which takes %d pairs', interval_least), say(', 95 %% interval %.4g to %.4g%s', low,
        high, iif(interval = 'student', ' (Student''s t over logarithms)', '')))
    || say('; smallest %.4g, quartiles %.4g and %.4g, largest %.4g', minimum, quarter, three_quarters, maximum)
    FROM pair, asked WHERE pairs
UNION ALL SELECT n, 3, CASE verdict
        WHEN 'too few pairs' THEN say('  too few pairs: %d; it takes %d to tell a difference from chance', pairs, least)
        WHEN 'same' THEN '  cannot be told apart: the interval contains 1'
        ELSE say('  %l is %s by %.3g %%%s', b, verdict, abs(median - 1) * 100,
            iif(is_objective, iif((verdict = 'higher') = maximise, ': better', ': worse'), '')) END FROM pair, asked
UNION ALL SELECT n, 4, say('  only %l runs: %d (the other side failed as job %d)', a, only_a, example_only_a) FROM pair WHERE only_a
UNION ALL SELECT n, 5, say('  only %l runs: %d (the other side failed as job %d)', b, only_b, example_only_b) FROM pair WHERE only_b
UNION ALL SELECT n, 6, say('  neither side runs: %d', neither) FROM pair WHERE neither
UNION ALL SELECT n, 7, say('  not finished yet: %d', open) FROM pair WHERE open
UNION ALL SELECT n, 8, say('  no ratio, because a value is missing, infinite, zero or negative: %d', without_ratio)
    FROM pair WHERE without_ratio
UNION ALL SELECT n, 9, say('  no choice, because the other half of the pairs has none of the free settings: %d', without_choice)
    FROM pair WHERE without_choice
UNION ALL SELECT 9e18, 0, char(10) || 'The best of several was chosen by the other half of the pairs, not by what is compared.'
    FROM asked WHERE chosen
UNION ALL SELECT 9e18, 1, say('%sThe %d intervals hold together: with 95 %% probability no verdict is by chance.', char(10),
    together) FROM asked WHERE together > 1;

-- --- all keys ---

-- As the keys were asked for; last: the last of their pairs; tied: the keys that may differ too, if pairs alone were too few.
CREATE TABLE effect (n INTEGER PRIMARY KEY, key, last, alone, tied);

-- strength: how far from 1 a ratio surely is, as a logarithm; below 0, by how much more it only seems to be.
CREATE VIEW effect_pair AS SELECT p.*, (SELECT min(n) FROM effect WHERE last >= p.n) AS effect,
    CASE WHEN verdict IN ('lower', 'higher') THEN min(abs(ln(low)), abs(ln(high)))
        ELSE iif(verdict = 'same', -1, -2) + min(abs(ln(median)), 9) / 10 END AS strength,
    CASE verdict WHEN 'too few pairs' THEN 'few' WHEN 'same' THEN 'same'
        ELSE iif((verdict = 'higher') = maximise, 'better', 'worse') END AS class,
    CASE verdict WHEN 'too few pairs' THEN say('too few pairs: %d of %d', pairs, least)
        WHEN 'same' THEN say('not told apart (%d)', pairs)
        ELSE say('%s by %.3g %% (%d)', iif((verdict = 'higher') = maximise, 'better', 'worse'), abs(median - 1) * 100, pairs)
        END AS words
    FROM pair AS p, asked WHERE pairs;
-- The keys by their strongest pairs: what surely changes the objective most first.
CREATE VIEW ranked_pair AS SELECT row_number() OVER (ORDER BY strength DESC, n) AS place, * FROM (
    SELECT *, row_number() OVER (PARTITION BY effect ORDER BY strength DESC, n) AS nth FROM effect_pair) WHERE nth = 1;
CREATE VIEW effect_line (place, line) AS SELECT place, say('%l: %l against %l', by, b, a)
    || iif(verdict = 'too few pairs', ', ', ' is ') || words
    || iif(interval IS NULL, '', say(', 95 %% interval of the ratio %.4g to %.4g', low, high)) FROM ranked_pair;
-- Sentences about keys: those without any pair of jobs that differ only in them, and those with which others may differ.
CREATE VIEW effect_keys (apart, freed) AS SELECT
    group_concat(key, ', ') FILTER (WHERE n NOT IN (SELECT effect FROM effect_pair)),
    group_concat(say('%s (too few pairs: %d of %d) with %s', key, alone, least, tied), '; ')
        FILTER (WHERE tied IS NOT NULL AND n IN (SELECT effect FROM effect_pair))
    FROM (SELECT * FROM effect ORDER BY n), asked;

CREATE VIEW ranked_by AS SELECT metric, unit, iif(maximise, 'max', 'min') AS better, together FROM asked;
CREATE VIEW ranked AS SELECT by, a, b, pairs, median, low, high, verdict, verdict IN ('lower', 'higher') AS told_apart
    FROM ranked_pair ORDER BY place;
CREATE VIEW ranked_line (part, n, line) AS
SELECT 0, 0, say('%s (%s is better), by what it surely changes between two values, over pairs equal in all else%s', metric,
    iif(maximise, 'higher', 'lower'), char(10)) FROM asked WHERE EXISTS (SELECT 1 FROM effect_pair)
UNION ALL SELECT 1, place, say('%2d. %s', place, line) FROM effect_line
UNION ALL SELECT 2, 0, say('%sThe %d intervals of all values hold together; compare --by KEY shows those of a key.', char(10),
    together) FROM asked WHERE together > 1
UNION ALL SELECT 3, 0, say('%sno two successful jobs differ only in: %s', char(10), apart) FROM effect_keys
    WHERE apart IS NOT NULL AND EXISTS (SELECT 1 FROM effect_pair)
UNION ALL SELECT 4, 0, say('%sthe best of each side counts, over keys tied to it: %s', char(10), freed) FROM effect_keys
    WHERE freed IS NOT NULL;

-- --- two databases ---

-- Their jobs: how many runs of them count, the mean of their costs' logarithms and the sum of squared deviations from it.
CREATE TABLE side (key, is_now, id, ok, breaches, runs, mean, squares, PRIMARY KEY (key, is_now)) WITHOUT ROWID;

-- The value that says the group of a later job ("": none), and the places of all values.
CREATE TABLE member (job INTEGER PRIMARY KEY, value, is_text);
CREATE TABLE group_place (place INTEGER PRIMARY KEY, value UNIQUE);

-- One row. cap: the slowdown to detect, as a ratio; decides: whether it is asked for; false_alarms, missed: error rates.
CREATE TABLE change (metric, unit, maximise, by, before, now, cap, decides, false_alarms, missed);

-- Of each group, of what has been measured on both sides.
CREATE TABLE judged (place INTEGER PRIMARY KEY, value, jobs, ratio, least, most, repeats, verdict, repeats_wanted);

CREATE VIEW common AS SELECT n.key, b.id AS job_before, n.id AS job, coalesce(p.place, 0) AS place, p.value,
    b.runs AS runs_before, b.mean AS mean_before, b.squares AS squares_before, n.runs, n.mean, n.squares,
    CASE WHEN b.ok AND NOT n.ok THEN 'failed_now' WHEN n.ok AND NOT b.ok THEN 'failed_before'
        WHEN b.runs = 0 OR n.runs = 0 THEN 'not_measured' ELSE 'measured' END AS became, n.breaches AND NOT b.breaches AS breached
    FROM side AS b JOIN side AS n ON n.key = b.key AND n.is_now LEFT JOIN member AS m ON m.job = n.id
    LEFT JOIN group_place AS p ON p.value = m.value
    WHERE NOT b.is_now;
CREATE VIEW measured AS SELECT * FROM common WHERE became = 'measured' ORDER BY place, job;

CREATE VIEW heading AS SELECT metric, unit, iif(maximise, 'max', 'min') AS better, by, iif(decides, cap, NULL) AS "limit" FROM change;
CREATE VIEW groups AS SELECT value AS "group", jobs, repeats, ratio, least, most, iif(decides, verdict, NULL) AS verdict,
    repeats_wanted FROM judged, change ORDER BY place;
CREATE VIEW job_ratios AS SELECT job_before, job, exp(iif(maximise, -mean_before, mean_before)) AS before,
    exp(iif(maximise, -mean, mean)) AS now, exp(mean - mean_before) AS ratio FROM measured, change ORDER BY place, job;
CREATE VIEW left_out AS SELECT count(*) FILTER (WHERE became = 'failed_now') AS failed_now,
    count(*) FILTER (WHERE became = 'failed_before') AS failed_before,
    count(*) FILTER (WHERE became = 'measured' AND breached) AS breached_now,
    count(*) FILTER (WHERE became = 'not_measured') AS not_measured,
    (SELECT count(*) FROM side WHERE NOT is_now) - count(*) AS before_only,
    (SELECT count(*) FROM side WHERE is_now) - count(*) AS now_only FROM common;

CREATE VIEW nothing_common (why) AS SELECT iif(failed_now + failed_before + not_measured,
        say('no job has a value of %s in both databases; of %d jobs in common, %d are ok only in the first and %d only in the '
            || 'second', metric, failed_now + failed_before + not_measured, failed_now, failed_before),
        say('the databases have no job in common (%d in the first, %d in the second); jobs are matched by key, so use the same '
            || 'sweep file with the same command', before_only, now_only))
    FROM left_out, change WHERE NOT EXISTS (SELECT 1 FROM measured);

CREATE VIEW group_words AS SELECT j.*, say('%l %l', by, coalesce(value, '(none)')) AS name,
    iif(NOT decides, '', CASE verdict
        WHEN 'too few repeats' THEN say('too few repeats to tell whether it is more than %.3g %% slower: ', (cap - 1) * 100)
            || iif(repeats_wanted, say('about %d runs of each job are needed on each side ([job] repeat = %d)', repeats_wanted,
                repeats_wanted), 'one run on each side does not show how much runs vary; set [job] repeat = 3')
        WHEN 'not slower' THEN say('not slower by %.3g %%', (cap - 1) * 100)
        ELSE say('slower by %.3g %%%s', (ratio - 1) * 100, iif(least >= cap, ', and certainly by more than the limit', '')) END)
    AS words, 100 - 100 * false_alarms / (SELECT count(*) FROM judged) AS least_sure, 100 - 100 * missed AS most_sure
    FROM judged AS j, change;

-- Each begins a line of its own after a blank one, or of a list in Markdown.
CREATE VIEW left_line (n, line) AS
SELECT 1, say('ok before, failed now: %d (for example job %d)', failed_now,
    (SELECT job FROM common WHERE became = 'failed_now' ORDER BY key LIMIT 1)) FROM left_out WHERE failed_now
UNION ALL SELECT 2, say('ok now but not before: %d', failed_before) FROM left_out WHERE failed_before
UNION ALL SELECT 3, say('not measured to the end on both sides, or not a positive value: %d', not_measured)
    FROM left_out WHERE not_measured
UNION ALL SELECT 4, say('met [sweep] subject_to before, but not now: %d (for example job %d)', breached_now,
    (SELECT job FROM measured WHERE breached ORDER BY key LIMIT 1)) FROM left_out WHERE breached_now
UNION ALL SELECT 5, say('in only one database: %d before, %d now', before_only, now_only) FROM left_out
    WHERE before_only + now_only;

CREATE VIEW change_line (part, n, line) AS
SELECT 0, 0, say('%s (%s is better), %l against %l: %d job%s in common', metric, iif(maximise, 'higher', 'lower'), now, before, jobs,
    iif(jobs = 1, '', 's')) FROM change, (SELECT count(*) AS jobs FROM measured)
UNION ALL SELECT 1, place, say('%s%s%d job%s, %.3g run%s of each on each side%s  ratio %.4g (above 1 is slower)', char(10),
        iif(by IS NULL, '', name || ': '), jobs, iif(jobs = 1, '', 's'), repeats, iif(say('%.3g', repeats) = '1', '', 's'),
        char(10), ratio)
    || iif(least, say(', at least %.4g (%.4g %% sure), at most %.4g (%g %% sure)', least, least_sure, most, most_sure), '')
    || iif(decides, char(10) || '  ' || words, '') FROM group_words, change
UNION ALL SELECT 2, n, char(10) || line FROM left_line;

CREATE VIEW change_markdown (part, n, line) AS
SELECT 0, 0, say('### %s (%s%s%s is better): %l against %l', metric, unit, iif(unit = '', '', ', '),
    iif(maximise, 'higher', 'lower'), now, before) FROM change
UNION ALL SELECT 1, 0, say('%s| | jobs | runs of each | ratio (above 1 is slower) | at least (%.4g %% sure) | at most (%g %% sure) | |',
    char(10), least_sure, most_sure) FROM group_words WHERE place = (SELECT min(place) FROM judged)
UNION ALL SELECT 2, 0, '|---|--:|--:|--:|--:|--:|---|'
UNION ALL SELECT 3, place, say('| %s | %d | %.3g | %.4g | %s%s |', replace(iif(by IS NULL, 'all', name), '|', '\|'), jobs, repeats,
    ratio, iif(least, say('%.4g | %.4g | ', least, most), ' | | '), replace(words, '|', '\|')) FROM group_words, change
UNION ALL SELECT 4, 0, say('%s| slowest jobs | %s before | now | ratio |', char(10), metric) FROM change
UNION ALL SELECT 5, 0, '|--:|--:|--:|--:|'
UNION ALL SELECT 6, n, say('| %d | %r | %r | %.4g |', job, before, now, ratio)
    FROM (SELECT *, row_number() OVER (ORDER BY ratio DESC, place) AS n FROM
        (SELECT *, row_number() OVER () AS place FROM job_ratios)) WHERE n <= 5
UNION ALL SELECT 7, n, char(10) || '- ' || line FROM left_line;
