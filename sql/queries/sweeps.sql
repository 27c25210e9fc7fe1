-- Every sweep file that was run, when, and which jobs still belong to it. A job belongs to the last sweep that had it.
SELECT s.id, s.name, s.path, datetime(s.first_seen / 1000, 'unixepoch') AS first_seen,
       datetime(s.last_seen / 1000, 'unixepoch') AS last_seen, s.combinations, s.matched,
       count(j.id) AS jobs, coalesce(sum(j.state = 'ok'), 0) AS ok, coalesce(sum(j.state = 'failed'), 0) AS failed
FROM sweep AS s
LEFT JOIN job AS j ON j.sweep_id = s.id
GROUP BY s.id
ORDER BY s.last_seen;
