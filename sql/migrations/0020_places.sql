-- Where jobs are not run for now, and in what condition devices were.

-- A place that is set aside: jobs failed there that went well elsewhere. Tried again after `until`; the row goes when a
-- job is ok there.
CREATE TABLE place (
    host    TEXT NOT NULL,
    device  TEXT NOT NULL DEFAULT '',   -- '': the host itself, a node
    message TEXT,                       -- of the first such failure
    jobs    INTEGER NOT NULL,           -- that failed there and went well elsewhere
    since   INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    rest_ms INTEGER NOT NULL,           -- doubled each time it fails when it is tried again
    PRIMARY KEY (host, device)
) WITHOUT ROWID;

-- What an attempt's devices were, and their clock, temperature, power, energy, slowdowns and memory errors: of each device,
-- with why what is NULL is not known. Over all of them they are metrics (device_clock and so on).
ALTER TABLE attempt ADD COLUMN device_model TEXT;
ALTER TABLE attempt ADD COLUMN device_condition TEXT CHECK (device_condition IS NULL OR json_valid(device_condition));
-- How its devices were slower than those of other attempts on devices of the same model; NULL: they were not, or it is not
-- known.
ALTER TABLE attempt ADD COLUMN device_note TEXT;
CREATE INDEX attempt_device_note ON attempt (job_id) WHERE device_note IS NOT NULL;
