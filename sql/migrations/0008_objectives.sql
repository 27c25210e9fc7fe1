-- What a sweep asks for besides its objective, which ranks.

CREATE TABLE further_objective (
    sweep_id INTEGER NOT NULL REFERENCES sweep (id) ON DELETE CASCADE,
    position INTEGER NOT NULL CHECK (position >= 1), -- as declared; 0 would be sweep.objective
    metric   TEXT NOT NULL,
    maximise INTEGER NOT NULL CHECK (maximise IN (0, 1)),
    PRIMARY KEY (sweep_id, position)
) WITHOUT ROWID;
