-- Notes under the change ?1 what ?2 says was different, and what the jobs in temp.moved were and are.

INSERT INTO replaced (change_id, job_id, field, was, now)
SELECT ?1, job_id, field, was, now FROM
(SELECT m.job_id, d.value ->> 'what' AS field, d.value ->> 'was' AS was, d.value ->> 'now' AS now
    FROM temp.moved AS m, json_each(?2, '$.differences') AS d
 UNION ALL SELECT j.id, 'key', lower(hex(m.was)), lower(hex(j.key))
    FROM temp.moved AS m JOIN job AS j ON j.id = m.job_id
 UNION ALL SELECT j.id, 'sweep', lower(hex(w.hash)), lower(hex(n.hash))
    FROM temp.moved AS m JOIN job AS j ON j.id = m.job_id
    JOIN sweep AS w ON w.id = m.sweep_id JOIN sweep AS n ON n.id = j.sweep_id
 UNION ALL SELECT j.id, 'derived', m.derived, j.derived
    FROM temp.moved AS m JOIN job AS j ON j.id = m.job_id WHERE m.derived IS NOT j.derived
 UNION ALL SELECT job_id, kind, (SELECT json FROM spec WHERE id = was), (SELECT json FROM spec WHERE id = now)
    FROM (SELECT m.job_id, 'cluster_spec' AS kind, m.cluster_id AS was, j.cluster_id AS now
             FROM temp.moved AS m JOIN job AS j ON j.id = m.job_id
          UNION ALL SELECT m.job_id, 'model', m.model_id, j.model_id
             FROM temp.moved AS m JOIN job AS j ON j.id = m.job_id
          UNION ALL SELECT m.job_id, 'training_spec', m.training_id, j.training_id
             FROM temp.moved AS m JOIN job AS j ON j.id = m.job_id
          UNION ALL SELECT m.job_id, 'parallel_spec', m.parallel_id, j.parallel_id
             FROM temp.moved AS m JOIN job AS j ON j.id = m.job_id)
    WHERE was IS NOT now);
