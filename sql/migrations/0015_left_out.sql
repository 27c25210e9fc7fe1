-- What a cap has kept out of the database is said: of a great many samples evenly spaced ones are kept, and of what an
-- attempt printed faster than it could be read, or in lines of JSON that are too long, no summary is.
ALTER TABLE summary ADD COLUMN kept INTEGER;  -- of the reported samples those in `metric`; NULL: all
ALTER TABLE attempt ADD COLUMN left_out TEXT; -- what no summary is of, in words; NULL: nothing
