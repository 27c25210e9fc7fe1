-- The report's section "Effect of each key" as a document (src/page/document.c), of the private database of
-- sql/comparisons.sql.
WITH
rows AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY r.place, p.n) AS number, p.*
    FROM effect_pair AS p JOIN ranked_pair AS r USING (effect)),
listed (cells) AS (
    SELECT json_array(json_object('row', say('class=%s data-quarters="%.6g %.6g"', class, quarter, three_quarters)),
        say('%80p', by), say('%80p', b), say('%80p', a), pairs, json(rounded(median)),
        json(rounded(low)), json(rounded(high)), words)
    FROM rows WHERE number <= 250 ORDER BY number),
-- Pairs of which one side fails.
one_sided (html) AS (
    SELECT group_concat('<tr><td>' || html(by, 80) || '<td>' || html(a, 80) || ', ' || html(b, 80)
        || printf('<td class=n>%d<td class=n>%d' || char(10), only_a, only_b), '')
    FROM (SELECT p.* FROM pair AS p JOIN ranked_pair AS r
            ON r.effect = (SELECT min(n) FROM effect WHERE last >= p.n)
        WHERE p.only_a + p.only_b ORDER BY r.place, p.n)),
pieces (place, piece) AS (
    SELECT 1, json_object('html', '<ol class=ranked>
' || group_concat('<li>' || html(line, 400) || char(10), '') || '</ol>
') FROM (SELECT line FROM effect_line ORDER BY place) HAVING count(*)
    UNION ALL SELECT 2, json_object('chart', 'effects-plot', 'data', '{}') WHERE EXISTS (SELECT 1 FROM rows)
    UNION ALL SELECT 3, json_object('note', json_array('Pairs of jobs that are equal in everything else and in the global '
        || 'batch, the keys that surely change the objective most first. Thick line: the interval of the median; thin line: '
        || 'the middle half of the pairs; in parentheses: the number of pairs. '
        || printf('With fewer than %d pairs, no conclusion is drawn.', least)
        || iif(together > 1, printf(' The %d intervals hold together with 95 %%, so they are wider than those of '
            || '<code>meshsweep compare</code>, which shows one key.', together), '')
        || iif(count > 80, printf(' The first 80 of %d are shown.', count), '')))
    FROM asked, (SELECT count(*) AS count FROM rows) WHERE count
    UNION ALL SELECT 4, json_object('figures', 'Effect of each key by matched pairs', 'columns', json_array('key', 'value',
            'against', 'pairs', json_array('median', 'ratio'), json_array('from', '95 %'), json_array('to', '95 %'), 'conclusion'),
        'rows', json_group_array(json(cells)), 'all', (SELECT count(*) FROM rows), 'others', 'rows, the first ones.')
    FROM listed HAVING count(*)
    UNION ALL SELECT 5, json_object('none', 'No two successful jobs differ in only one key.') FROM effect_keys
    WHERE apart IS NULL AND NOT EXISTS (SELECT 1 FROM rows)
    UNION ALL SELECT 6, json_object('html', '<details><summary>Pairs in which only one side runs</summary><div class=scroll '
        || 'tabindex=0><table class=plain><thead><tr><th scope=col>key<th scope=col>values<th scope=col>only the first<th '
        || 'scope=col>only the second</thead><tbody>
' || html || '</tbody></table></div></details>
') FROM one_sided WHERE html IS NOT NULL
    UNION ALL SELECT 7, json_object('note', json_array('The best of each side is compared, chosen by the other half of the '
        || 'pairs, over the keys that rules and derived keys tie to the key: ', freed, '.')) FROM effect_keys
    WHERE freed IS NOT NULL
    UNION ALL SELECT 8, json_object(iif(EXISTS (SELECT 1 FROM rows), 'note', 'none'), json_array('No two successful jobs differ '
        || 'in only one of these keys, so their effects are not known: ', apart, '.')) FROM effect_keys
    WHERE apart IS NOT NULL)

SELECT iif(EXISTS (SELECT 1 FROM asked), (SELECT json_group_array(json(piece)) FROM (SELECT piece FROM pieces ORDER BY place)),
    json_array(json_object('none', 'The sweep declares no objective.')));
