-- Each index with what reads its columns. A table WITHOUT ROWID is an index itself, which is not in the schema: NOT
-- INDEXED would leave SQLite any.

WITH listed AS (SELECT t.name AS "table", l.name, l."unique", i.sql, i.name IS NULL AS is_table
   FROM sqlite_schema AS t JOIN pragma_index_list(t.name) AS l
   LEFT JOIN sqlite_schema AS i ON i.type = 'index' AND i.name = l.name WHERE t.type = 'table')
SELECT "table", name, sql,
       (SELECT iif(min(cid) < -1, NULL, group_concat(iif(cid = -1, 'rowid', printf('"%w"', x.name))))
        FROM pragma_index_xinfo(o.name) AS x WHERE "key" OR NOT is_table),
       ifnull((SELECT printf(' INDEXED BY "%w"', name) FROM listed WHERE "table" = o."table" AND is_table),
              ' NOT INDEXED'),
       is_table, iif("unique", (SELECT count(*) FROM pragma_index_info(o.name)), 0)
FROM listed AS o ORDER BY 1
