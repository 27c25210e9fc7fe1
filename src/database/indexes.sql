-- Of each table with indexes a statement that reads it once for all of them, and says whether each has its rows; false
-- where that cannot be told: of an expression, or of a partial index whose condition is not found. A table WITHOUT
-- ROWID is an index itself, which is not in the schema: NOT INDEXED would leave SQLite any. SQLite has made sure that
-- an index in memory has one expression without a question in it.

WITH listed AS (SELECT t.name AS "table", l.name, l."unique", i.sql, i.name IS NULL AS is_table
   FROM sqlite_schema AS t JOIN pragma_index_list(t.name) AS l
   LEFT JOIN sqlite_schema AS i ON i.type = 'index' AND i.name = l.name WHERE t.type = 'table'),
told AS (SELECT *, row_number() OVER (PARTITION BY "table") AS n,
       (SELECT iif(min(cid) < -1, NULL, group_concat(iif(cid = -1, 'rowid', printf('"%w"', x.name))))
        FROM pragma_index_xinfo(o.name) AS x WHERE "key" OR NOT is_table) AS columns,
       ifnull((SELECT printf(' INDEXED BY "%w"', name) FROM listed WHERE "table" = o."table" AND is_table),
              ' NOT INDEXED') AS way,
       iif("unique", (SELECT count(*) FROM pragma_index_info(o.name)), 0) AS key_columns,
       CASE WHEN sql IS NULL THEN '1' WHEN instr(sql, ')') AND sql NOT GLOB '*["`[]*' THEN
           iif(instr(behind, 'WHERE'), substr(sql, instr(sql, ')') + instr(behind, 'WHERE') + 4), '1') END AS condition
   FROM (SELECT *, upper(substr(sql, instr(sql, ')'))) AS behind FROM listed) AS o)
SELECT iif(count(*) = count(columns || condition), printf('SELECT %s FROM (SELECT %s FROM "%w"%s)',
       group_concat(iif(is_table, printf('sum_%d IS NOT NULL', n),
           printf('sum_%d IS (SELECT sorted_row_sum(%d, %s) FROM "%w" INDEXED BY "%w" WHERE %s)', n, key_columns,
               columns, "table", name, condition)), ' AND '),
       group_concat(iif(is_table, printf('sorted_row_sum(0, %s)', columns),
           printf('row_sum(%s) FILTER (WHERE %s)', columns, condition)) || ' AS sum_' || n),
       "table", way), 'SELECT false')
FROM told GROUP BY "table"
