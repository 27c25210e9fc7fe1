-- The tables of sql/settle_imports.sql. The sweeps whose jobs tables asked for are those of before: a table that is
-- read anew may leave one.

CREATE TEMP TABLE imported_job (id INTEGER PRIMARY KEY);
CREATE TEMP TABLE removed_attempt (id INTEGER PRIMARY KEY);
CREATE TEMP TABLE imported_sweep AS SELECT DISTINCT sweep_id FROM imported_table WHERE sweep_id IS NOT NULL;
