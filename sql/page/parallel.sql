-- The report's section "All keys at once", which the script draws from the jobs that it has, as a document
-- (src/page/document.c).
WITH
-- The keys that vary.
key AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY derived, n DESC) AS place, title FROM page_column
    WHERE is_key AND levels > 1 AND twin IS NULL ORDER BY place LIMIT 10),
given AS MATERIALIZED (
    SELECT jobs, (SELECT count(*) FROM key) AS keys, EXISTS (SELECT 1 FROM page_job WHERE objective IS NOT NULL) AS reported,
        EXISTS (SELECT 1 FROM page_job WHERE state IN ('ok', 'failed')) AS ended FROM page)

SELECT CASE
    WHEN keys = 0 OR keys + reported < 2
        THEN json_array(json_object('none', 'This plot needs a key with two values and an objective, or two such keys.'))
    WHEN NOT ended THEN json_array(json_object('none', 'No job has ended yet.'))
    ELSE json_array(
        json_object('chart', 'parallel-plot', 'data', (SELECT '{"keys":[' || group_concat(json_quote(say('%80p', title)), ',') || ']}'
            FROM (SELECT title FROM key ORDER BY place DESC))),
        json_object('note', json_array('Each line is a job: lighter is better, and the best lie on top. The thick line is the '
            || 'winner; dashed lines are failed jobs. <a href="#jobs">All jobs</a> has the same numbers.'
            || iif(jobs > 1000, printf(' Of %d jobs, one in %d is drawn, and all of the best.', jobs, (jobs + 999) / 1000), ''))))
    END FROM given;
