-- When a job is tried again, and where it was tried before.

-- Not to be started before; NULL: at any time. Wall-clock, so that it outlives the runner.
ALTER TABLE job ADD COLUMN due INTEGER;
CREATE INDEX job_due ON job (sweep_id, due) WHERE state = 'pending' AND due IS NOT NULL;

ALTER TABLE attempt ADD COLUMN host TEXT;    -- NULL: its runner's
ALTER TABLE attempt ADD COLUMN devices TEXT; -- "0,2", as CUDA_VISIBLE_DEVICES has them; NULL: it was given none
