-- What stands above the report's table of all jobs, as a document (src/page/document.c). ?1: how many rows it has
-- without a script; ?2: after how many columns values of keys are cut.
WITH
states (key, html, jobs) AS MATERIALIZED (
    SELECT state, printf('<label><input type=checkbox name=state value=%s checked>%s</label>' || char(10), state, state), count(*)
    FROM page_job GROUP BY state),
cut (html) AS (
    SELECT printf('<p class=note>Of %s %d of %d values are cut after %d characters; <code>meshsweep export</code> has them in '
        || 'full.</p>' || char(10), html(c.title, 80), count(*), c.levels, ?2)
    FROM page_level AS l CROSS JOIN page_column AS c ON c.n = l.of
    WHERE c.is_key AND length(CAST(l.text AS BLOB)) > ?2 AND html(l.text, ?2) <> html(l.text, 0) GROUP BY c.n ORDER BY c.n)

SELECT json_array(json_object('html',
    '<form id=filter hidden><label>Filter <input type=search id=words autocomplete=off list=columns '
    || 'aria-describedby=wrong placeholder="deep zero_stage=3 throughput&gt;100"></label>
<fieldset><legend>States</legend>' || coalesce(group_concat(html, ''), '') || '</fieldset>'
    || '<button type=button id=clear hidden>clear</button><output id=shown aria-live=polite></output>'
    || '<datalist id=columns></datalist><p id=wrong role=alert hidden></p></form>
<p class="note help">Click a column''s name to sort. A filter consists of words that occur in the row and conditions such '
    || 'as <code>zero_stage=1|3</code> or <code>throughput&gt;100</code>; put values with spaces in quotes.</p>
' || iif(sum(jobs) > ?1, printf('<noscript><p class=note>Without JavaScript, only the best %d of %d jobs are shown.</p></noscript>
', ?1, sum(jobs)), '') || coalesce((SELECT group_concat(html, '') FROM cut), '')))
FROM (SELECT * FROM states ORDER BY instr('failed ok running pending', key));
