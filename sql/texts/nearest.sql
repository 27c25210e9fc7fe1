-- That no job meets all conditions of [sweep] subject_to, and which comes nearest: of a document ?1 that has `subject_to` and
-- of what stands beside it, ?2 (src/results/best.h). By a share where it is missed by less than as much again, else in
-- times, to two digits. %0.6g is C's %.6g, "1e+09", while %.6g has all digits of a whole number.
WITH
nearest AS (
    SELECT value ->> 'job' AS job, value ->> 'condition' AS condition, value ->> 'value' AS value, value ->> 'bound' AS bound,
        ?2 ->> 'excess' AS excess, ?2 ->> ('$.notes[' || key || ']') AS note, 1 + (?2 ->> 'excess') AS times
    FROM json_each(?1, '$.subject_to') WHERE key = ?2 ->> 'nearest'),
rounded AS (SELECT *, digit * round(times / digit) AS many FROM (SELECT *, pow(10, floor(log10(times)) - 1) AS digit FROM nearest))
SELECT say('no job meets all conditions of [sweep] subject_to; the nearest is job %d: %s', job, condition)
    || coalesce(' unknown: ' || note, ' is missed' || CASE WHEN excess < 0.1 THEN say(' by %.2g %%', 100 * excess)
            WHEN excess < 1 THEN say(' by %.0f %%', 100 * excess)
            WHEN excess THEN iif(value > bound, ': ', ': the bound is ') || say(iif(digit < 1, '%.1f', '%a'), many)
                || iif(value > bound, ' times the bound', ' times as much')
            ELSE '' END
        || iif(value IS NULL OR bound IS NULL, '', say(' (%0.6g, the bound is %0.6g)', value, bound)))
FROM rounded
