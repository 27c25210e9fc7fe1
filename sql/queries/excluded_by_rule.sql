-- The exclusions of each rule of the current sweep: combinations for which it is the first rule that is false, and
-- those for which it is false whatever the other rules say, with an example of the values. Warnings exclude nothing.
SELECT rule, level, excluded, alone, reason, example, source
FROM excluded
WHERE excluded > 0
ORDER BY level, excluded DESC;
