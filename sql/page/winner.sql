-- The report's section "Winner": the winner, or that of each group if configurations compete, its lead, what limits it,
-- its keys and its command; and the Pareto set of several objectives; as a document (src/page/document.c). ?1: {"leads":
-- of src/results/best.h, "groups": their winners, and of those that are on this page the "row" and
-- how they are run: "line", "redacted", "elsewhere", "best"; "pareto": of src/results/best.h; "unranked" and "excluded":
-- why jobs cannot win (src/results/best.h)}.
WITH
asked AS MATERIALIZED (
    SELECT *, groups OR replicates AS compete, json_array_length(?1, '$.groups') AS winners FROM page),
winner AS MATERIALIZED (
    SELECT w.key AS number, w.value ->> 'row' AS row, w.value ->> 'job' AS job, w.value ->> 'value' AS value,
        w.value ->> 'group' AS name, w.value AS given, l.value AS lead, peers, bytes
    FROM json_each(?1, '$.groups') AS w JOIN json_each(?1, '$.leads') AS l ON l.key = w.key
    LEFT JOIN page_job AS j ON j.n = (w.value ->> 'row') WHERE w.key < 100),

-- "num_hosts=1, device_memory=16 MiB": the values of sizes as such.
part (number, row, rest, part) AS (
    SELECT number, row, name, NULL FROM winner WHERE row IS NOT NULL
    UNION ALL SELECT number, row, substr(rest, instr(rest || ', ', ', ') + 2), substr(rest, 1, instr(rest || ', ', ', ') + 1)
    FROM part WHERE rest <> ''),
part_size AS (
    SELECT p.*, (SELECT min(c.n) FROM page_column AS c JOIN page_value AS v ON v.n = c.n * (SELECT jobs FROM asked) + p.row
        WHERE c.is_key AND c.unit = 'B' AND p.part IN (c.name || '=' || v.text, c.name || '=' || v.text || ', ')) AS size
    FROM part AS p WHERE part IS NOT NULL),
group_name (number, html) AS MATERIALIZED (
    SELECT number, group_concat(iif(size IS NULL, html(part, 80), html(substr(part, 1, instr(part, '=')), 80)
        || key_value('B', rtrim(substr(part, instr(part, '=') + 1), ', ')) || iif(rest = '', '', ', ')), '')
    FROM part_size GROUP BY number
    UNION ALL SELECT number, html(name, 400) FROM winner WHERE row IS NULL),

-- How far ahead, and the cost of more runs.
ahead (number, html) AS (
    SELECT number, iif(lead ->> 'ahead' < 0.0001, '<p>Less than 0.01 % from ', say('<p>%.2g %% %s ', 100 * (lead ->> 'ahead'),
            iif(maximise, 'ahead of', 'below')))
        || printf('<a href="#j%d">job %d</a>', lead ->> 'second', lead ->> 'second')
        || iif(lead ->> 'low' IS NULL, '; one of the two was measured only once, so the uncertainty is not known',
            say(', 95 %% interval %.2g to %.2g %%', 100 * (lead ->> 'low'), 100 * (lead ->> 'high')) || iif(lead ->> 'ran_once',
                ' from the samples of single runs, which say nothing about how much runs differ', ''))
        || '.</p>
' FROM winner, asked WHERE lead ->> 'second' IS NOT NULL),
cost (number, ms, hours) AS (
    SELECT w.number, sum(a.duration_ms), sum(1.0 * a.duration_ms * j.devices) / 3600000
    FROM winner AS w JOIN job AS j ON j.id = w.job OR j.id IN (SELECT value FROM json_each(w.lead, '$.alike'))
    JOIN attempt AS a ON a.id = j.attempt_id WHERE lead ->> 'alike_jobs' GROUP BY w.number HAVING sum(a.duration_ms) > 0),
alike (number, html) AS (
    SELECT number, printf('<p>It cannot be told apart from %d other%s (95 %%): ', lead ->> 'alike_jobs',
            iif(lead ->> 'alike_jobs' = 1, '', 's'))
        || (SELECT group_concat(printf('<a href="#j%d">job %d</a>', value, value), ', ') FROM json_each(lead, '$.alike'))
        || iif(lead ->> 'alike_jobs' > json_array_length(lead, '$.alike'), ', ….', '.')
        || iif(ms IS NULL, '', say(' One more run of each, one after the other, takes %t and %.2g device-hours.', ms, hours)) || '</p>
' FROM winner LEFT JOIN cost USING (number) WHERE lead ->> 'alike_jobs'),

-- What limits it.
capacity AS (
    SELECT w.number, bytes, bytes_of(v.text) AS most FROM winner AS w JOIN page_column AS c ON c.title = 'device_memory'
    JOIN page_value AS v ON v.n = c.n * (SELECT jobs FROM asked) + w.row),
memory (number, html) AS (
    SELECT number, printf('<p>It uses %s of a device''s %s (', size(bytes), size(most)) || say('%.0f %%).</p>
', 100 * bytes / most) FROM capacity WHERE bytes IS NOT NULL AND most > 0),
-- The jobs of its group that differ from it in exactly one key.
next AS MATERIALIZED (
    SELECT number, place, outcome, state, count(*) AS jobs FROM (SELECT n, place, outcome, state, peers FROM page_job) AS j
    JOIN winner AS w USING (peers) JOIN page_apart AS x ON x.n = w.row * (SELECT jobs FROM asked) + j.n
    WHERE keys = 1 GROUP BY number, place),
neighbours (number, html) AS (
    SELECT number, printf('<p>Of %d job%s that differ%s from it in one key, ', jobs, iif(jobs = 1, '', 's'), iif(jobs = 1, 's', ''))
        || CASE ended WHEN jobs THEN printf('%d failed', failed) WHEN 0 THEN 'none has ended'
            ELSE printf('%d ended and %d of these failed', ended, failed) END
        || coalesce(': ' || classes, '') || '.</p>
' FROM (SELECT number, sum(jobs) AS jobs, sum(iif(state IN ('ok', 'failed'), jobs, 0)) AS ended,
            sum(iif(state = 'failed', jobs, 0)) AS failed,
            group_concat(iif(state = 'failed', printf('%d %s', jobs, outcome), NULL), ', ') AS classes
        FROM (SELECT * FROM next ORDER BY number, place) GROUP BY number)),

-- With groups, only the keys that vary, since there are many winners.
keys (number, html) AS (
    SELECT number, '<dl class=keys>' || coalesce(group_concat(iif(levels > 1, '<div class=varies><dt>', '<div><dt>')
        || html(title, 80) || '</dt><dd>' || key_value(unit, text) || '</dd></div>
', ''), '') || '</dl>
' FROM (SELECT w.number, c.title, c.levels, c.unit, v.text FROM winner AS w LEFT JOIN page_column AS c ON c.is_key
            AND (levels > 1 OR NOT (SELECT compete FROM asked)) LEFT JOIN page_value AS v
            ON v.n = c.n * (SELECT jobs FROM asked) + w.row
        WHERE w.row IS NOT NULL AND v.text IS NOT NULL ORDER BY w.number, c.n) GROUP BY number),
command (number, html) AS (
    SELECT number, coalesce(printf('<p>To run it again:</p>
<div class=command><pre id=command%d tabindex=0>', job) || html_lines(given ->> 'line', 0)
            || printf('</pre><button type=button data-copy=command%d hidden>copy</button></div>
', job), '')
        || coalesce('<p class=note>It has no command, because it was measured elsewhere (' || html(given ->> 'elsewhere', 400)
            || ').</p>
', '') || coalesce('<p class=note>Secrets are left out; fill them in before you run it: ' || html(given ->> 'redacted', 400) || '</p>
', '')
    FROM winner),
details (number, html) AS (
    SELECT number, coalesce(ahead.html, '') || coalesce(alike.html, '') || coalesce(memory.html, '')
        || coalesce(neighbours.html, '') || coalesce(keys.html, '<dl class=keys></dl>
') || command.html
    FROM winner LEFT JOIN ahead USING (number) LEFT JOIN alike USING (number) LEFT JOIN memory USING (number)
    LEFT JOIN neighbours USING (number) LEFT JOIN keys USING (number) LEFT JOIN command USING (number)
    WHERE row IS NOT NULL),

-- The table of winners.
share_cells (number, html) AS (
    SELECT number, group_concat('<td class=n>' || iif(share IS NULL, '', say('%.3g %%', 100 * share)), '')
    FROM (SELECT number, 1 AS n, lead ->> 'ahead' AS share FROM winner
        UNION ALL SELECT number, 2, lead ->> 'low' FROM winner UNION ALL SELECT number, 3, lead ->> 'high' FROM winner ORDER BY 1, 2)
    GROUP BY number),
header (html) AS (
    SELECT iif(groups, '<th scope=col>group', '') || iif(maximise, '<th scope=col>highest ', '<th scope=col>lowest ')
        || html(objective, 80) || iif(unit = '', '', ' (' || html(unit, 80) || ')') || iif(maximise, '<th scope=col>per device', '')
        || iif(replicates, '<th scope=col>replicates<th scope=col>failed<th scope=col>median<th scope=col>from (95 %)<th '
            || 'scope=col>to<th scope=col>cannot be told apart from it', '')
        || '<th scope=col>ahead of the next<th scope=col>by at least (95 %)<th scope=col>at most<th scope=col>job'
    FROM asked),
row (number, html) AS (
    SELECT number, '<tr>' || iif(a.groups, '<td>' || coalesce(g.html, ''), '') || amount_cell(unit, value)
        || iif(maximise, amount_cell(unit, given ->> 'per_device'), '')
        || iif(a.replicates, printf('<td class=n>%d<td class=n>%d', given ->> '$.replicates.ok', given ->> '$.replicates.failed')
            || amount_cell(unit, given ->> '$.replicates.median') || amount_cell(unit, given ->> '$.replicates.low')
            || amount_cell(unit, given ->> '$.replicates.high') || printf('<td class=n>%d', lead ->> 'alike_jobs'), '')
        || s.html || printf('<td><a href="#j%d">%d</a>' || char(10), job, job)
    FROM winner AS w JOIN asked AS a JOIN share_cells AS s USING (number) LEFT JOIN group_name AS g USING (number)),
winners (html) AS (
    SELECT '<div class=scroll tabindex=0><table class=plain><thead><tr>' || (SELECT html FROM header) || '</thead><tbody>
' || (SELECT group_concat(html, '') FROM (SELECT html FROM row ORDER BY number)) || '</tbody></table></div>
<p class=note>' || iif(winners > 100, printf('The first 100 of %d groups are shown. ', winners), '')
        || iif(groups, 'Groups are not compared with each other. ', '')
        || iif(replicates, 'Values are means over replicates; the job shown is the median one.', '') || '</p>
' FROM asked),
-- One below the other.
folded (html) AS (
    SELECT group_concat(html, '') FROM (
        SELECT printf('<details class=winner data-job=%d%s><summary>', w.job, iif(a.groups, '', ' open'))
            || iif(a.groups, coalesce(g.html, '') || ': ', '') || amount(unit, value) || printf(', job %d</summary>
', w.job) || d.html || iif(a.groups, '<p class=note>Files to use it: <code>' || html(given ->> 'best', 400) || ' --out DIR</code></p>
', '') || '</details>
' AS html
        FROM winner AS w JOIN asked AS a JOIN details AS d USING (number) LEFT JOIN group_name AS g USING (number)
        ORDER BY number)),

-- Why the value is no plain average of what is recorded.
statement (html) AS (
    SELECT '<p class=note>In SQL: <code>' || html(printf('SELECT value FROM job_metric WHERE job_id = %d AND name = %Q', m.job_id,
            m.name), 400) || '</code>, ' || iif(m.attempts > 1, printf('the median over %d attempts, each ', m.attempts), '')
        || CASE WHEN d.expression IS NOT NULL THEN 'worked out from other metrics' WHEN d.take IS NULL THEN 'as recorded'
            ELSE 'the ' || d.take || ' of its samples' || iif(d.warmup, printf(' after %d of warm-up', d.warmup), '') END
        || '; an average over all rows of a metric is another figure.</p>
' FROM asked JOIN winner JOIN job_metric AS m ON m.job_id = job AND m.name = objective
    LEFT JOIN metric_definition AS d ON d.name = m.name WHERE NOT compete),
single (html) AS (
    SELECT '<p class=best><b title="' || rounded(value) || '">' || amount(unit, value) || '</b> ' || html(objective, 80)
        || printf(', <a href="#j%d">job %d</a></p>' || char(10), job, job) || coalesce((SELECT html FROM statement), '') || d.html
    FROM winner JOIN details AS d USING (number) JOIN asked WHERE NOT compete),

-- With several objectives, the first one ranks; this is the Pareto set of all.
objective (n, metric, maximise, unit) AS MATERIALIZED (
    SELECT n, metric, maximise, coalesce(unit, '') FROM (
        SELECT 0 AS n, objective AS metric, maximise FROM current_sweep UNION ALL SELECT position, metric, maximise
        FROM further_objective WHERE sweep_id = (SELECT id FROM current_sweep))
    LEFT JOIN metric_definition ON name = metric),
pareto (n, html) AS (
    SELECT p.key, printf('<tr><td><a href="#j%d">%d</a>', p.value ->> 'job', p.value ->> 'job')
        || (SELECT group_concat(amount_cell(unit, v.value), '')
            FROM (SELECT * FROM objective ORDER BY n) AS o JOIN json_each(p.value, '$.values') AS v ON v.key = o.metric)
        || iif(p.value ->> 'tie' IS NULL, '', printf('<td>as job %d', p.value ->> 'tie')) || char(10)
    FROM json_each(?1, '$.pareto') AS p WHERE p.key < 50),
pareto_set (html) AS (
    SELECT printf('<div class=scroll tabindex=0><table class=plain><caption>Of %d objectives: the %d jobs that no other job '
            || 'beats in all of them (Pareto set)%s</caption><thead><tr><th scope=col>job', (SELECT count(*) FROM objective),
            json_array_length(?1, '$.pareto'), iif(json_array_length(?1, '$.pareto') > 50, ', the first 50', ''))
        || (SELECT group_concat(iif(maximise, '<th scope=col>highest ', '<th scope=col>lowest ') || html(metric, 80)
            || iif(unit = '', '', ' (' || html(unit, 80) || ')'), '') FROM (SELECT * FROM objective ORDER BY n))
        || '</thead><tbody>
' || group_concat(html, '') || '</tbody></table></div>
' FROM (SELECT html FROM pareto ORDER BY n) HAVING count(*)),
outcomes (ok, failed) AS (SELECT sum(state = 'ok'), sum(state = 'failed') FROM page_job),
pieces (place, piece) AS (
    SELECT 1, json_object('none', json_array(CASE WHEN compete THEN 'No configuration has a finite objective yet.'
            WHEN ok THEN 'Some jobs succeeded, but none has a finite objective.'
            WHEN failed THEN printf('No job has succeeded%s: %d failed (<a href="#failures">why</a>).',
                iif(failed = jobs_in_all, '', ' yet'), failed) ELSE 'No job has succeeded yet.' END))
    FROM asked, outcomes WHERE NOT EXISTS (SELECT 1 FROM winner)
    UNION ALL SELECT 2, json_object('html', html) FROM single
    UNION ALL SELECT 3, json_object('html', html) FROM pareto_set WHERE EXISTS (SELECT 1 FROM single)
    UNION ALL SELECT 4, json_object('html', html || coalesce((SELECT html FROM folded), ''))
    FROM winners, asked WHERE compete AND EXISTS (SELECT 1 FROM winner)
    UNION ALL SELECT 5, json_object('note', json_array('', value)) FROM json_each(?1)
    WHERE key IN ('unranked', 'excluded') AND value IS NOT NULL)

SELECT iif(objective IS NULL, json_array(json_object('none', 'The sweep declares no objective: add objective = "max:METRIC" or '
        || '"min:METRIC" under [sweep] and run it once more.')),
    (SELECT json_group_array(json(piece)) FROM (SELECT piece FROM pieces ORDER BY place))) FROM asked;
