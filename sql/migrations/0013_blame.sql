-- What a failed attempt is put down to, what others said of its end, and jobs that wait for their host.

-- What a failed attempt's other ranks and its launcher said of the end, where `message` has the cause. NULL: nothing.
ALTER TABLE attempt ADD COLUMN consequence TEXT;

-- NULL: the job. Others do not count against it: its runner died, its node failed or was lost, it was preempted, its host
-- could not run it (src/store/blame.h).
ALTER TABLE attempt ADD COLUMN blame TEXT CHECK (blame IS NULL OR blame = 'runner' OR blame = 'node'
                                                 OR blame = 'preemption' OR blame = 'host');
UPDATE attempt SET blame = 'runner' WHERE failure = 'lost';

-- Time at which its runner stood still (stopped, frozen, paused), which is not part of duration_ms: how long it really took is
-- not known. NULL: none.
ALTER TABLE attempt ADD COLUMN unwatched_ms INTEGER;

-- Why a job is not to be started now, in words; NULL: it may be. It stays pending.
ALTER TABLE job ADD COLUMN held TEXT CHECK (held IS NULL OR state = 'pending');
-- Deaths of its runner or node in a row at which it was running; and whether there were so many that it runs last.
ALTER TABLE job ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN aside INTEGER NOT NULL DEFAULT 0 CHECK (aside = 0 OR aside = 1);

DROP INDEX job_pending;
CREATE INDEX job_pending ON job (sweep_id, aside, priority, rank)
    WHERE state = 'pending' AND witness_id IS NULL AND held IS NULL;
CREATE INDEX job_held ON job (sweep_id) WHERE held IS NOT NULL;
CREATE INDEX job_losses ON job (id) WHERE losses > 0;
