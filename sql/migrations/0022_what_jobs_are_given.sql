-- What jobs are given beside their command is recorded with them.

-- Files.

-- Fixtures.

-- What a job left behind.
