-- Other tables that the file of the sweep ?1 read before it was changed, with rows of jobs that the sweep does not
-- have: "2.csv (3), 4.csv (1)".

SELECT group_concat(path || ' (' || rows || ')', ', ') FROM (SELECT t.path, count(*) AS rows
    FROM imported_table AS t JOIN attempt AS a ON a.table_id = t.id JOIN job AS j ON j.id = a.job_id
    WHERE t.sweep_id <> ?1 AND j.sweep_id <> ?1
        AND t.sweep_id IN (SELECT o.id FROM sweep AS o JOIN sweep AS s ON s.name = o.name WHERE s.id = ?1)
    GROUP BY t.id ORDER BY t.path)
