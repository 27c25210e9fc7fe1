-- The checks and triggers that are passed for every job, without IN over more than two texts: SQLite makes a b-tree of
-- such a list for each row that it checks, and these were half of what recording a job cost. They allow what they allowed.

-- As https://www.sqlite.org/lang_altertable.html has it for changes that leave the rows as they are. The triggers below
-- tell other connections that the schema has changed.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(replace(replace(sql,
    'risk IN (1, 2, 3)', 'risk = 1 OR risk = 2 OR risk = 3'),
    'state IN (''pending'', ''running'', ''ok'', ''failed'')',
    'state = ''pending'' OR state = ''running'' OR state = ''ok'' OR state = ''failed'''),
    'failure IN (''exit'', ''signal'', ''oom'', ''oom-host'', ''timeout'', ''hang'', ''no-metric'',
                                               ''spawn'', ''lost'', ''cancelled'')',
    'failure IS NULL OR failure = ''exit'' OR failure = ''signal'' OR failure = ''oom'' OR failure = ''oom-host''
                                        OR failure = ''timeout'' OR failure = ''hang'' OR failure = ''no-metric''
                                        OR failure = ''spawn'' OR failure = ''lost'' OR failure = ''cancelled''')
WHERE type = 'table' AND name = 'job';
UPDATE sqlite_schema
SET sql = replace(replace(sql,
    'state IN (''claimed'', ''running'', ''ok'', ''failed'')',
    'state = ''claimed'' OR state = ''running'' OR state = ''ok'' OR state = ''failed'''),
    'failure IN (''exit'', ''signal'', ''oom'', ''oom-host'', ''timeout'', ''hang'', ''no-metric'', ''spawn'',
                                         ''lost'', ''cancelled'')',
    'failure IS NULL OR failure = ''exit'' OR failure = ''signal'' OR failure = ''oom'' OR failure = ''oom-host''
                                  OR failure = ''timeout'' OR failure = ''hang'' OR failure = ''no-metric''
                                  OR failure = ''spawn'' OR failure = ''lost'' OR failure = ''cancelled''')
WHERE type = 'table' AND name = 'attempt';
UPDATE sqlite_schema
SET sql = replace(sql,
    'kind IN (''cluster_spec'', ''model'', ''training_spec'', ''parallel_spec'')',
    'kind = ''cluster_spec'' OR kind = ''model'' OR kind = ''training_spec'' OR kind = ''parallel_spec''')
WHERE type = 'table' AND name = 'spec';
PRAGMA writable_schema = RESET;

DROP TRIGGER job_state;
CREATE TRIGGER job_state BEFORE UPDATE OF state ON job
WHEN OLD.state <> NEW.state AND NOT CASE OLD.state
     WHEN 'pending' THEN NEW.state = 'running'
     WHEN 'running' THEN NEW.state = 'pending' OR NEW.state = 'ok' OR NEW.state = 'failed'
     ELSE NEW.state = 'pending' END
BEGIN
    SELECT RAISE(ABORT, 'a job goes from pending to running to ok or failed, and from each of them to pending');
END;

DROP TRIGGER attempt_state;
CREATE TRIGGER attempt_state BEFORE UPDATE OF state ON attempt
WHEN OLD.state <> NEW.state AND NOT CASE OLD.state
     WHEN 'claimed' THEN NEW.state = 'running'
     WHEN 'running' THEN NEW.state = 'ok' OR NEW.state = 'failed'
     ELSE 0 END
BEGIN
    SELECT RAISE(ABORT, 'an attempt goes from claimed to running to ok or failed, and nowhere else');
END;
