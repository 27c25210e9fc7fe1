-- The report's section "Speed against memory", with the Pareto front of both, as a document (src/page/document.c).
WITH
-- The unit of memory in tables: of bytes the largest of which there are two.
given AS MATERIALIZED (
    SELECT *, min(instr(memory_unit || ' ', ' '), instr(memory_unit || ',', ',')) - 1 AS word FROM page),
-- cost: the less the better.
point AS MATERIALIZED (
    SELECT n, job, memory, objective, cost, barred, peers, NOT barred AND coalesce(cost < min(iif(barred, NULL, cost)) OVER (
            PARTITION BY peers ORDER BY memory, cost, n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS on_front
    FROM (SELECT n, job, memory, objective, barred, peers, iif((SELECT maximise FROM given), -objective, objective) AS cost
        FROM page_job WHERE objective IS NOT NULL AND memory IS NOT NULL)),
summed (count, fronts, conditions, high) AS MATERIALIZED (
    SELECT count(*), sum(on_front), max(barred),
        max(memory) + iif(max(memory) > min(memory), max(memory) - min(memory), abs(max(memory)) / 5) / 20 FROM point),
scale (scale, unit) AS MATERIALIZED (
    SELECT coalesce(u.value ->> 1, 1.0), coalesce((u.value ->> 0) || substr(memory_unit, word + 1), memory_unit)
    FROM given LEFT JOIN (SELECT value FROM json_each('[["GiB", 1073741824.0], ["MiB", 1048576.0], ["KiB", 1024.0]]'), given, summed
        WHERE substr(memory_unit, 1, word) IN ('B', 'bytes') AND high >= 2 * (value ->> 1) ORDER BY key LIMIT 1) AS u),
-- The jobs on each group's front for the script, which has the values of all jobs.
fronts (list) AS (
    SELECT '[' || group_concat(job, ',') || ']'
    FROM (SELECT peers, job FROM point WHERE on_front ORDER BY peers, memory, cost, n) GROUP BY peers),
-- The keys that vary.
key AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY derived, n DESC) AS place, n, title, unit FROM page_column
    WHERE is_key AND levels > 1 AND twin IS NULL ORDER BY place LIMIT 12),
best AS MATERIALIZED (SELECT * FROM point WHERE on_front ORDER BY memory, cost, n LIMIT 50),
cells (n, html) AS (
    SELECT n, group_concat('<td>' || iif(text IS NULL, '', key_value(unit, text)), '')
    FROM (SELECT b.n, k.unit, v.text FROM best AS b JOIN key AS k
        JOIN page_value AS v ON v.n = k.n * (SELECT jobs FROM given) + b.n ORDER BY b.n, k.place DESC)
    GROUP BY n),
front_table (html) AS (
    SELECT '<div class=scroll tabindex=0><table class=plain><caption>On the front'
        || iif(fronts > 50, printf(', the first 50 of %d', fronts), '')
        || '</caption><thead><tr><th scope=col>job<th scope=col>' || html(memory_title, 80)
        || iif(scale.unit = '', '', ' (' || html(scale.unit, 80) || ')') || '<th scope=col>' || html(objective, 80)
        || iif(given.unit = '', '', ' (' || html(given.unit, 80) || ')')
        || coalesce((SELECT group_concat('<th scope=col>' || html(title, 80), '') FROM (SELECT title FROM key ORDER BY place DESC)), '')
        || '</thead><tbody>
' || coalesce((SELECT group_concat(printf('<tr><td><a href="#j%d">%d</a><td class=n>%s<td class=n>%s%s' || char(10), job, job,
            rounded(memory / scale), rounded(objective), html), '')
            FROM (SELECT * FROM best LEFT JOIN cells USING (n) ORDER BY memory, cost, n)), '') || '</tbody></table></div>
' FROM given, scale, summed)

SELECT CASE
    WHEN objective IS NULL THEN json_array(json_object('none', 'The sweep declares no objective.'))
    WHEN memory_title IS NULL THEN json_array(json_object('none', 'No job reports memory. A metric with the word memory in its '
        || 'name, such as peak_memory_bytes, would be shown here.'))
    WHEN count = 0 THEN json_array(json_object('none',
        'No successful job has both a finite objective and a value for memory.'))
    ELSE json_array(
        json_object('chart', 'front-plot', 'data', '{"fronts":[' || coalesce((SELECT group_concat(list, ',') FROM fronts), '') || ']}'),
        json_object('note', json_array(printf('%s: %d job%s, %d of them on %s: no other job %s%sboth takes less memory and is better.',
            iif(group_count > 1, 'Each line is the Pareto front of a group', 'The line is the Pareto front'), count,
            iif(count = 1, '', 's'), fronts, iif(group_count > 1, 'the fronts of their groups', 'the front'),
            iif(conditions, 'that may win ', ''), iif(group_count > 1, 'of the group ', '')))),
        json_object('points', count),
        json_object('html', (SELECT html FROM front_table)),
        json_object('figures', 'Objective against memory', 'columns', json_array('job', json_array(memory_title, scale.unit),
                json_array(objective, given.unit), 'on the front'),
            'rows', (SELECT json_group_array(json_array(job, json(rounded(memory / scale)), json(rounded(objective)),
                    iif(on_front, 'yes', '')))
                FROM (SELECT * FROM point JOIN scale ORDER BY memory, cost, n LIMIT 250)),
            'all', count, 'others', 'jobs, those with the least memory; <a href="#jobs">All jobs</a> has both values of every job.'))
    END FROM given, summed, scale;
