-- What the sweep seeks and when it ran, as a document (src/page/document.c). ?1: the name of its file.
WITH
seen (first, last) AS (
    SELECT strftime('%Y-%m-%d %H:%M:%S UTC', first_seen / 1000, 'unixepoch'),
        iif(last_seen - first_seen >= 60000, ', last at ' || strftime('%Y-%m-%d %H:%M:%S UTC', last_seen / 1000, 'unixepoch'), '')
    FROM current_sweep)

SELECT json_array(json_object('text', json_array(
    iif(objective IS NULL, 'No objective is declared, so there is no best job',
        'Sought: the ' || iif(maximise, 'highest', 'lowest') || ' <b>'),
    say('%80p', objective),
    iif(objective IS NULL, '', '</b>') || '. First run at ' || first || last || '. Sweep file: <code>', ?1, '</code>')))
FROM current_sweep, seen;
