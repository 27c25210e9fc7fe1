-- What each rule of the current sweep removed: combinations for which it is the first that is false, and those that it
-- alone makes false whatever the others say, with an example of the values. Warnings remove nothing.
SELECT rule, level, excluded, alone, reason, example, source
FROM excluded
WHERE excluded > 0
ORDER BY level, excluded DESC;
