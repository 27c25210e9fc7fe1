-- What `meshsweep accept` says of the words, ?2, that do not name all differences, ?1; nothing where they do.
WITH
word (n, word) AS (SELECT key, value FROM json_each(?2)),
difference AS (
    SELECT key AS n, value ->> 'what' AS what, say('%s: %s -> %s; ', value ->> 'what', coalesce(value ->> 'was', 'none'),
        coalesce(value ->> 'now', 'none')) AS words
    FROM json_each(?1) ORDER BY key),
-- "epochs" is "training_spec.epochs".
named AS (SELECT difference.n, word.n AS word FROM difference JOIN word ON word IN (what, substr(what, instr(what, '.') + 1))),
names AS (SELECT group_concat(what, ', ') AS listed, group_concat(what, ' ') AS given, group_concat(words, '') AS words FROM difference)

SELECT text FROM (
    SELECT n, say('%s is not what differs; that is: %s', word, listed) AS text
    FROM word, names WHERE n NOT IN (SELECT word FROM named)
    UNION ALL SELECT 1e9, say('the jobs with results differ in more than was said: %sto let them stand all the same, name everything: '
        || 'meshsweep accept %s', words, given)
    FROM names WHERE EXISTS (SELECT 1 FROM difference WHERE n NOT IN (SELECT n FROM named))
        AND NOT (json_array_length(?1) = 1 AND json_array_length(?2) = 0))
ORDER BY n LIMIT 1;
