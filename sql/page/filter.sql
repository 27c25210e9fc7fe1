-- What stands above the report's table of all jobs, as a document (src/page/document.c). ?1: {"state": jobs of the
-- page}; ?2: how many rows it has without a script.
WITH
states (key, html, jobs) AS MATERIALIZED (
    SELECT key, printf('<label><input type=checkbox name=state value=%s checked>%s</label>' || char(10), key, key), value
    FROM json_each(?1) WHERE value > 0)

SELECT json_array(json_object('html',
    '<form id=filter hidden><label>Filter <input type=search id=words autocomplete=off list=columns '
    || 'aria-describedby=wrong placeholder="deep zero_stage=3 throughput&gt;100"></label>
<fieldset><legend>States</legend>' || coalesce(group_concat(html, ''), '') || '</fieldset>'
    || '<button type=button id=clear hidden>clear</button><output id=shown aria-live=polite></output>'
    || '<datalist id=columns></datalist><p id=wrong role=alert hidden></p></form>
<p class="note help">Click a column''s name to sort. A filter consists of words that occur in the row and conditions such '
    || 'as <code>zero_stage=1|3</code> or <code>throughput&gt;100</code>; put values with spaces in quotes.</p>
' || iif(sum(jobs) > ?2, printf('<noscript><p class=note>Without JavaScript, only the best %d of %d jobs are shown.</p></noscript>
', ?2, sum(jobs)), '')))
FROM (SELECT * FROM states ORDER BY instr('failed ok running pending', key));
