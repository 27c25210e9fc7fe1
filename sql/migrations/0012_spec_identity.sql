-- Specs that differ only in a label which a job's texts read are specs of their own.

ALTER TABLE spec ADD COLUMN identity BLOB CHECK (identity IS NULL OR length(identity) = 16); -- without labels; NULL: as `hash`
