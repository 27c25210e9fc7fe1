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
