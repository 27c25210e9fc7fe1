-- Tables of the connection (src/space/formers.c): the sweep file's jobs, those of the database whose results are looked
-- at, and both sides' keys, one by one, so that [was] is carried out on them.
CREATE TEMP TABLE asked (key BLOB PRIMARY KEY, cluster_spec, model, training_spec, parallel_spec, has_results)
    WITHOUT ROWID;
CREATE TEMP TABLE former (job_id INTEGER PRIMARY KEY, key, cluster_spec, model, training_spec, parallel_spec);
CREATE TEMP TABLE member (is_old, section, spec, key, value, PRIMARY KEY (is_old, section, spec, key)) WITHOUT ROWID;
-- All specs of both sides.
CREATE TEMP VIEW used (is_old, section, spec) AS
    SELECT 0, 'cluster_spec', cluster_spec FROM temp.asked
    UNION SELECT 0, 'model', model FROM temp.asked
    UNION SELECT 0, 'training_spec', training_spec FROM temp.asked
    UNION SELECT 0, 'parallel_spec', parallel_spec FROM temp.asked
    UNION SELECT 1, 'cluster_spec', cluster_spec FROM temp.former
    UNION SELECT 1, 'model', model FROM temp.former
    UNION SELECT 1, 'training_spec', training_spec FROM temp.former
    UNION SELECT 1, 'parallel_spec', parallel_spec FROM temp.former;
