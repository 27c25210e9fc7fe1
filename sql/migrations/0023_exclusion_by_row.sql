-- What an attempt measured is looked for along its own rows.

-- A join with excluded_attempt is worked out for all attempts, once SQLite has statistics, at each job that has more
-- than one; a subquery for the one.
DROP TRIGGER job_measured;
CREATE TRIGGER job_measured AFTER UPDATE OF attempt_id ON job
WHEN EXISTS (SELECT 1 FROM attempt WHERE job_id = NEW.id AND id IS NOT NEW.attempt_id)
     OR EXISTS (SELECT 1 FROM note WHERE job_id = NEW.id)
BEGIN
    DELETE FROM job_metric WHERE job_id = NEW.id;
    INSERT INTO job_metric
    SELECT NEW.id, name, avg(iif(place IN ((n + 1) / 2, n / 2 + 1), value, NULL)), n, min(note)
    FROM (SELECT name, value, note, count(value) OVER (PARTITION BY name) AS n,
                 row_number() OVER (PARTITION BY name ORDER BY value IS NULL, value) AS place
          FROM (SELECT name, iif(why IS NULL, value, NULL) AS value, iif(why IS NULL, note, 'excluded: ' || why) AS note
                FROM (SELECT s.name, s.value, s.note,
                             (SELECT x.why FROM excluded_attempt AS x WHERE x.attempt_id = s.attempt_id) AS why
                      FROM summary AS s
                      WHERE s.attempt_id IN (SELECT id FROM counted_attempt WHERE job_id = NEW.id UNION ALL
                          SELECT NEW.attempt_id WHERE NOT EXISTS (SELECT 1 FROM counted_attempt WHERE job_id = NEW.id)))))
    GROUP BY name;
END;
