-- Where an attempt's row comes from, so that merging the same database again adds nothing.

ALTER TABLE attempt ADD COLUMN origin TEXT; -- "<database's identity>:<id there>"; NULL: it was made here
CREATE UNIQUE INDEX attempt_origin ON attempt (origin) WHERE origin IS NOT NULL;
