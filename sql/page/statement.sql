-- Why a job's value is no plain average of what is recorded, as a document (src/page/document.c). ?1: the job; ?2: the
-- metric.
SELECT json_array(json_object('note', json_array('In SQL: <code>',
    printf('SELECT value FROM job_metric WHERE job_id = %d AND name = %Q', m.job_id, m.name), '</code>, ',
    iif(m.attempts > 1, printf('the median over %d attempts, each ', m.attempts), '')
        || CASE WHEN d.expression IS NOT NULL THEN 'worked out from other metrics' WHEN d.take IS NULL THEN 'as recorded'
            ELSE 'the ' || d.take || ' of its samples' || iif(d.warmup, printf(' after %d of warm-up', d.warmup), '') END,
    '; an average over all rows of a metric is another figure.')))
FROM job_metric AS m LEFT JOIN metric_definition AS d ON d.name = m.name WHERE m.job_id = ?1 AND m.name = ?2;
