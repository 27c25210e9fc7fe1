-- The report's section "Time line": a bar for each attempt, a lane for each slot, as a document (src/page/document.c).
WITH
attempts AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY a.started, a.id) AS number, a.job_id AS job, a.started, a.ended,
        coalesce(a.duration_ms, a.ended - a.started) AS took, coalesce(a.failure, '') AS failure,
        coalesce(r.host, '?') || ' slot ' || coalesce(a.slot, '?') AS slot, count(*) OVER () AS in_all
    FROM attempt AS a JOIN job AS j ON j.id = a.job_id LEFT JOIN runner AS r ON r.id = a.runner_id
    WHERE j.sweep_id = (SELECT id FROM current_sweep) AND a.started IS NOT NULL AND a.ended >= a.started
        AND a.kind = 'trial' ORDER BY a.started, a.id LIMIT 2500),
-- The first 64 slots have a lane.
lanes (slot, lane) AS MATERIALIZED (
    SELECT slot, row_number() OVER (ORDER BY min(number)) - 1 FROM attempts GROUP BY slot ORDER BY 2 LIMIT 64),
-- Until when others worked before.
after AS MATERIALIZED (
    SELECT *, coalesce(max(ended) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), started)
        AS until FROM attempts),
work (busy, mark, began) AS MATERIALIZED (
    SELECT busy, CAST(busy AS REAL) / 50 + 1, began
    FROM (SELECT sum(max(ended - max(started, until), 0)) AS busy, min(started) AS began FROM after)),
-- Idle times between runs would squeeze the bars: those longer than a tenth of the working time are replaced by a mark.
cut AS MATERIALIZED (
    SELECT a.*, iif(started - until > busy / 10 + 1000, started - until, 0) AS idle FROM after AS a, work),
placed AS MATERIALIZED (
    SELECT c.*, began + sum(iif(idle, idle - mark, 0.0)) OVER (ORDER BY number) AS shift, mark FROM cut AS c, work),
bars AS MATERIALIZED (SELECT p.*, lane FROM placed AS p LEFT JOIN lanes USING (slot)),
gaps (number, at, length, count) AS MATERIALIZED (
    SELECT number, until - (shift - idle + mark) + mark / 2, idle, count(*) OVER () FROM placed WHERE idle),
-- For the script, times in ms.
chart (data) AS (
    SELECT printf('{"length":%s,"lanes":[', say('%.0f', max(ended - shift)))
        || (SELECT group_concat(json_quote(say('%20p', slot)), ',')
            FROM (SELECT slot FROM lanes ORDER BY lane)) || '],"gaps":['
        || coalesce((SELECT group_concat(printf('[%s,"%s"]', say('%.0f', at), iif(count > 8, '', say('%t', length))), ',')
            FROM (SELECT * FROM gaps ORDER BY number LIMIT 40)), '') || '],"bars":['
        || (SELECT group_concat(printf('%s[%d,%d,%s,%s,"%s"]', iif(number % 100 = 2, char(10), ''), job, lane,
            say('%.0f', started - shift), say('%.0f', ended - shift), failure), ',') FROM bars WHERE lane IS NOT NULL) || ']}'
    FROM bars),
-- Only classes that occur.
legend (html) AS (
    SELECT group_concat(printf('<li><i class="x-%s"></i>%s', class, class), '')
    FROM (SELECT coalesce(nullif(failure, ''), 'ok') AS class FROM attempts GROUP BY failure ORDER BY min(number))),
listed (cells) AS (
    SELECT json_array(job, iif(lane IS NULL, '', say('%80p', slot)),
        strftime('%Y-%m-%dT%H:%M:%S', started / 1000, 'unixepoch') || printf('.%03dZ', started % 1000),
        say('%t', took), iif(failure = '', 'ok', failure))
    FROM (SELECT * FROM bars WHERE number <= 250 ORDER BY number))

SELECT iif(count(*) = 0,
    json_array(json_object('none', iif(
        EXISTS (SELECT 1 FROM job WHERE sweep_id = (SELECT id FROM current_sweep) AND state IN ('ok', 'failed')),
        'The times of attempts are not known, because these jobs come from a table.', 'No attempt has ended yet.'))),
    json_array(
        json_object('chart', 'timeline-plot', 'data', (SELECT data FROM chart)),
        json_object('legend', (SELECT html FROM legend)),
        json_object('note', json_array(
            iif(EXISTS (SELECT 1 FROM gaps), 'Dotted lines mark idle times that were cut out. ', '')
            || iif(sum(lane IS NULL), 'Only the first 64 slots are drawn. ', '')
            || iif(in_all > count(*), printf('The first %d of %d attempts are drawn.', count(*), in_all), ''))),
        json_object('figures', 'Attempts by slot over time',
            'columns', json_array('job', 'slot', json_array('started', 'UTC'), 'took', 'outcome'),
            'rows', (SELECT json_group_array(json(cells)) FROM listed), 'all', in_all,
            'others', 'attempts, the first ones.'))) FROM bars;
