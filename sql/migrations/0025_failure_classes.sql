-- The classes of failures are rows, as the program that last wrote has them, and a new one needs no new schema.
CREATE TABLE failure_class (
    name TEXT PRIMARY KEY
) WITHOUT ROWID;

-- As https://www.sqlite.org/lang_altertable.html has it for changes that leave the rows as they are, as in 0009.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = substr(sql, 1, instr(sql, 'CHECK (failure IS NULL') - 1) || 'REFERENCES failure_class (name)'
          || substr(sql, instr(sql, '''cancelled'')') + 12)
WHERE type = 'table' AND name IN ('job', 'attempt');
PRAGMA writable_schema = RESET;
