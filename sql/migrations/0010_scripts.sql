-- What an attempt ran, by content.

ALTER TABLE attempt ADD COLUMN scripts TEXT CHECK (scripts IS NULL OR json_valid(scripts)); -- {path: hash} at its start
