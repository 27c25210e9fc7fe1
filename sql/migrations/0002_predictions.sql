-- What was predicted for a job, what came of it, and what predictions have learned.

-- Jobs of a lower priority wait for all others: those that may not fit.
ALTER TABLE job ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
-- NULL: nothing predicted. 1 fits, 2 may not fit, 3 does not fit.
ALTER TABLE job ADD COLUMN risk INTEGER CHECK (risk IN (1, 2, 3));
-- Would have been pruned, but runs to see whether that would have been right.
ALTER TABLE job ADD COLUMN audit INTEGER NOT NULL DEFAULT 0 CHECK (audit IN (0, 1));

DROP INDEX job_pending;
CREATE INDEX job_pending ON job (sweep_id, priority, rank) WHERE state = 'pending';

-- An attempt's outcome beside what was predicted for it before it ran.
CREATE TABLE observation (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    quantity   TEXT NOT NULL CHECK (quantity IN ('memory', 'time')),
    framework  TEXT NOT NULL,
    device     TEXT NOT NULL,
    cluster    TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('measured', 'at-least', 'at-most')),
    measured   REAL NOT NULL,           -- bytes or seconds; for at-least and at-most, the device's bytes
    predicted  REAL NOT NULL,           -- by the coefficients of that moment
    peak       REAL,                    -- time: seconds at the peak of all devices
    terms      TEXT NOT NULL CHECK (json_valid(terms)),
    PRIMARY KEY (attempt_id, quantity)
) WITHOUT ROWID;
CREATE INDEX observation_place ON observation (framework, device, cluster, quantity);

-- Weights fitted to the observations of one place.
CREATE TABLE calibration (
    framework TEXT NOT NULL,
    device    TEXT NOT NULL,
    cluster   TEXT NOT NULL,
    quantity  TEXT NOT NULL CHECK (quantity IN ('memory', 'time')),
    weights   TEXT NOT NULL CHECK (json_valid(weights)),   -- one per term
    sigma     REAL NOT NULL,
    interval  REAL NOT NULL,
    measured  INTEGER NOT NULL,
    censored  INTEGER NOT NULL,
    broken    INTEGER NOT NULL,
    prior     INTEGER NOT NULL CHECK (prior IN (0, 1)),    -- too few measurements: the prior's weights
    baseline  REAL,                     -- time: measured over peak seconds, where that does better than the model
    model_error REAL, baseline_error REAL,                 -- over the last runs: mean of |predicted / measured - 1|
    updated   INTEGER NOT NULL,
    PRIMARY KEY (framework, device, cluster, quantity)
) WITHOUT ROWID;
