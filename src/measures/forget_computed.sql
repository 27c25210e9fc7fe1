-- What was computed from the numbers in temp.renewal has no value until it is computed again.

UPDATE summary SET value = NULL, note = 'the next run computes it again' WHERE reported IS NULL
    AND attempt_id IN (SELECT attempt_id FROM temp.renewal)
    AND name IN (SELECT name FROM metric_definition WHERE expression IS NOT NULL)
