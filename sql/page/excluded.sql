-- The report's section "Excluded combinations" as a document (src/page/document.c).
WITH
rules AS MATERIALIZED (
    SELECT json_array(say('%80p', rule) || iif(level = 'warn', ' (only a warning)', ''), excluded, alone,
        coalesce(reason, ''), coalesce(source, ''), coalesce(example, '')) AS cells
    FROM excluded WHERE excluded > 0 ORDER BY excluded DESC LIMIT 500)

SELECT iif(count(*) = 0, json_array(json_object('none', 'No rule excluded any combination.')),
    json_array(
        json_object('table', json_array('rule', 'excluded', 'false for', 'reason', 'source', 'for example'),
            'rows', json_group_array(json(cells))),
        json_object('note', json_array('"Excluded" counts a combination once, at the first rule that it violates; "false for" '
            || 'counts it at every rule that it violates.')))) FROM rules;
