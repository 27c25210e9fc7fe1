-- summary.txt of a tuning. ?1: 1 where more is better, else -1; ?2 and ?3: the objective and its unit; ?4: the one of
-- the tuning; ?5: whether it was interrupted.
WITH of (profile) AS (SELECT count(role) > 0 FROM current_sweep),
space (title, stage) AS (VALUES ('z0', 0), ('z1', 1), ('z2', 2), ('z3', 3), ('global', NULL)),
line AS (SELECT s.title, (SELECT count(*) FROM temp.experiment AS x WHERE x.stage IS s.stage OR s.stage IS NULL)
    AS count, (SELECT x.n FROM temp.experiment AS x WHERE x.value IS NOT NULL
        AND (x.stage IS s.stage OR s.stage IS NULL) ORDER BY x.value * ?1 DESC, x.n LIMIT 1) AS best
    FROM space AS s JOIN of WHERE NOT of.profile),
took (ms) AS (SELECT max(0, coalesce(max(ended) - min(started), 0)) FROM temp.experiment)
SELECT '| tuning_space | num_experiments | best_metric_val | best_exp_name |' || char(10) || '|---|---|---|---|'
    || char(10) || coalesce((SELECT group_concat(printf('| %-12s | %15d | ', title, count) || iif(best IS NULL,
        printf('%15s | none was measured', '-'), printf('%15.6g | %s', x.value, x.name)) || ' |' || char(10), '')
        FROM line LEFT JOIN temp.experiment AS x ON x.n = line.best WHERE line.count > 0), '')
    || char(10) || printf('Metric: %s%s. Tuning completed in %d:%02d:%02d.%06d. Total number of experiments: %d.',
        iif(of.profile, ?4, ?2), iif(?3 <> '', ', ' || ?3, ''), ms / 3600000, ms / 60000 % 60, ms / 1000 % 60,
        ms % 1000 * 1000, iif(of.profile, 0, (SELECT count(*) FROM temp.experiment))) || char(10)
    || iif(of.profile, 'Only the model-information job has run (profile_model_info).' || char(10), '')
    || iif(?5, 'Interrupted: not everything was tried; the best is the best so far.' || char(10), '')
FROM of JOIN took
