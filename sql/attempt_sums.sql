-- Made where [sweep] checksums asks for it. The sum is XXH3-128 over src/database/attempt_sums.c's questions.
CREATE TABLE IF NOT EXISTS attempt_sum (
    attempt_id INTEGER PRIMARY KEY,
    sum        BLOB NOT NULL
);
CREATE TRIGGER IF NOT EXISTS attempt_sum_deleted AFTER DELETE ON attempt
BEGIN
    DELETE FROM attempt_sum WHERE attempt_id = OLD.id;
END;
