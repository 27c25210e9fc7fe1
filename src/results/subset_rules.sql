-- Names and conditions of the rules that leave the jobs of the JSON list ?1 alone, of the product of their specs; none
-- where the product has no more than ?2. A rule for the first two sections, one for the first three, one for all: what
-- cannot be is seen before the rest of the product is looked at. Texts are short: one for each way in which the
-- sections before may be, of what may stand beside it, each the joined values of the keys that differ. Before a text
-- stands '!3', of a key that is missing '!0', after each value a bar, and a value's own '!' and bars are '!1' and '!2':
-- no text is part of another, or of two.

WITH used AS MATERIALIZED (SELECT DISTINCT s.* FROM json_each(?1) AS n JOIN job AS j ON j.id = n.value
    JOIN spec AS s ON s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id)),
 key (kind, name, plain) AS MATERIALIZED (SELECT s.kind, k.key, NOT max(k.value GLOB '*[|!]*')
    FROM used AS s, json_each(s.json) AS k
    WHERE instr(k.key, '"') = 0 AND instr(k.key, '\') = 0 AND instr(k.key, char(39)) = 0 GROUP BY 1, 2
    HAVING count(DISTINCT k.value) > 1 OR count(*) < (SELECT count(*) FROM used AS n WHERE n.kind = s.kind)
    ORDER BY 1, 2),
 size (kind, specs) AS (SELECT s.kind, count(*) FROM used AS s
    WHERE EXISTS (SELECT 1 FROM json_each(s.json) AS k WHERE k.type <> 'null') GROUP BY 1),
 product (combinations) AS (SELECT coalesce(max(specs) FILTER (WHERE kind = 'cluster_spec'), 1.0)
    * coalesce(max(specs) FILTER (WHERE kind = 'model'), 1)
    * coalesce(max(specs) FILTER (WHERE kind = 'training_spec'), 1)
    * coalesce(max(specs) FILTER (WHERE kind = 'parallel_spec'), 1) FROM size),
 -- of the file's combination, as an expression
 tested (c, m, t, p) AS (SELECT coalesce(group_concat(text, '') FILTER (WHERE kind = 'cluster_spec'), ''),
    coalesce(group_concat(text, '') FILTER (WHERE kind = 'model'), ''),
    coalesce(group_concat(text, '') FILTER (WHERE kind = 'training_spec'), ''),
    coalesce(group_concat(text, '') FILTER (WHERE kind = 'parallel_spec'), '')
    FROM (SELECT kind, printf(iif(plain, ' || coalesce(%s, ''!0'') || ''|''',
        ' || coalesce(replace(replace(%s, ''!'', ''!1''), ''|'', ''!2''), ''!0'') || ''|'''),
        kind || '."' || name || '"') AS text FROM key)),
 -- of the jobs
 placed (n, job, c, m, t, p) AS MATERIALIZED (SELECT n, job,
    coalesce(group_concat(text, '') FILTER (WHERE kind = 'cluster_spec'), ''),
    coalesce(group_concat(text, '') FILTER (WHERE kind = 'model'), ''),
    coalesce(group_concat(text, '') FILTER (WHERE kind = 'training_spec'), ''),
    coalesce(group_concat(text, '') FILTER (WHERE kind = 'parallel_spec'), '')
    FROM (SELECT n.key AS n, n.value AS job, key.kind,
        coalesce(replace(replace(json_extract(s.json, '$."' || key.name || '"'), '!', '!1'), '|', '!2'), '!0')
            || '|' AS text
        FROM json_each(?1) AS n CROSS JOIN job AS j ON j.id = n.value LEFT JOIN key LEFT JOIN spec AS s
         ON s.id = CASE key.kind WHEN 'cluster_spec' THEN j.cluster_id WHEN 'model' THEN j.model_id
            WHEN 'training_spec' THEN j.training_id ELSE j.parallel_id END
        ORDER BY n.key, key.kind, key.name) GROUP BY n),
 rule (number, name, first, beside) AS (SELECT 2, 'exported-subset-2', c, m FROM tested
    UNION ALL SELECT 3, 'exported-subset-3', c || m, t FROM tested
    UNION ALL SELECT 4, 'exported-subset', c || m || t, p FROM tested),
 pair (number, n, job, first, beside) AS (SELECT 2, n, job, c, m FROM placed
    UNION ALL SELECT 3, n, job, c || m, t FROM placed UNION ALL SELECT 4, n, job, c || m || t, p FROM placed),
 known (number, first, besides) AS (SELECT number, first, group_concat('!3' || beside, '')
    FROM (SELECT number, first, beside, job, min(n) FROM pair GROUP BY 1, 2, 3 ORDER BY number, first, job)
    GROUP BY 1, 2)
SELECT name, 'instr(CASE ''!3''' || first || (SELECT group_concat(text, '') FROM (SELECT
    ' WHEN ' || quote('!3' || k.first) || ' THEN ' || quote(k.besides) AS text
    FROM known AS k WHERE k.number = rule.number ORDER BY k.first))
   || ' ELSE '''' END, ''!3''' || beside || ') > 0'
FROM rule, product WHERE combinations > ?2 ORDER BY number
