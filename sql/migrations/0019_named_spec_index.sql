-- The index of specs under a name of its own, as that of job keys in 0017: where a new database gets a spec for each of
-- many jobs, it is made when they are there.

PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, ',' || char(10) || '    UNIQUE (kind, hash)', '')
WHERE type = 'table' AND name = 'spec';
UPDATE sqlite_schema SET name = 'spec_hash', sql = 'CREATE UNIQUE INDEX spec_hash ON spec (kind, hash)'
WHERE type = 'index' AND name = 'sqlite_autoindex_spec_1';
PRAGMA writable_schema = RESET;
