-- A database in the middle of a run, over the migration and sql/views.sql: two sweeps; of the current one, "gpt", three
-- jobs are ok, three failed, one runs and one waits.

PRAGMA application_id = 1836279927;
INSERT INTO meta VALUES ('identity', '00112233445566778899aabbccddeeff');

INSERT INTO sweep (id, hash, name, path, text, profile_text, tool_version, objective, maximise, first_seen, last_seen,
                   combinations, matched, duplicates, jobs, enumerated) VALUES
    (1, x'00000000000000000000000000000001', 'first', 'first.toml', '', '', '0.1.0', NULL, 0, 1700000000000,
     1700000000000, 1, 1, 0, 1, 1),
    (2, x'00000000000000000000000000000002', 'gpt', 'gpt.toml', '', '', '0.1.0', 'throughput', 1, 1700001000000,
     1700001000000, 16, 9, 1, 8, 1);

INSERT INTO definition (id, name, unit, better, warmup) VALUES (1, 'throughput', 'samples/s', 'max', 1);
INSERT INTO metric_definition (name, unit, better, warmup, definition_id) VALUES
    ('throughput', 'samples/s', 'max', 1, 1), ('loss', '', 'min', 0, NULL);

INSERT INTO rule (sweep_id, position, name, require, reason, source, level, excluded, alone) VALUES
    (2, 1, 'world-size', 'dp * tp = gpus', 'the degrees must multiply to the number of devices', 'built in', 'exclude', 6, 7),
    (2, 2, 'batch-divides', 'global_batch % micro_batch = 0', 'the batch must divide', 'sweep file', 'exclude', 1, 2),
    (2, 3, 'tp-within-node', 'tp <= gpus_per_node', 'slow across nodes', 'built in', 'warn', 2, 2),
    (2, 4, 'unused', 'layers > 0', 'never fires', 'sweep file', 'exclude', 0, 0);
INSERT INTO exclusion (sweep_id, position, rank, "values") VALUES (2, 1, 3, '{"dp":1,"gpus":8,"tp":2}');

INSERT INTO spec (id, kind, hash, name, json) VALUES
    (1, 'cluster_spec', x'268628fff169081d18a48da00f7566f3', NULL, '{"num_devices_per_host":8,"num_hosts":1}'),
    (2, 'model', x'2d7a5b8c830ea2b1369ea71aa75d6299', 'tiny', '{"layers":2,"name":"tiny"}'),
    (3, 'model', x'beeca7114889952ddae114a51dca9b06', 'small', '{"layers":4,"name":"small"}'),
    (4, 'parallel_spec', x'816f78c63540ec9523c950fdcc6baba0', NULL, '{"micro_batch":1,"tp":1,"zero_stage":0}'),
    (5, 'parallel_spec', x'c2a74f24a2842b4b861291f55c5a3350', NULL, '{"micro_batch":2,"tp":1,"zero_stage":0}'),
    (6, 'parallel_spec', x'f834f8f7d85f516710beed5d2b5ca837', NULL, '{"micro_batch":4,"tp":2,"zero_stage":1}'),
    (7, 'parallel_spec', x'7dcf9669308a5e74a5edb921a6920004', NULL, '{"micro_batch":8,"tp":2,"zero_stage":3}');

INSERT INTO job (id, key, sweep_id, rank, cluster_id, model_id, parallel_id, derived, devices, timeout_ms, state, failure,
                 attempt_id) VALUES
    (1, x'01000000000000000000000000000000', 2, 0, 1, 2, 4, '{"dp":8}', 8, 600000, 'ok', NULL, 1),
    (2, x'02000000000000000000000000000000', 2, 1, 1, 2, 5, '{"dp":8}', 8, 600000, 'ok', NULL, 2),
    (3, x'03000000000000000000000000000000', 2, 2, 1, 2, 6, '{"dp":4}', 8, 600000, 'ok', NULL, 3),
    (4, x'04000000000000000000000000000000', 2, 3, 1, 2, 7, '{"dp":4}', 8, 600000, 'failed', 'oom', 4),
    (5, x'05000000000000000000000000000000', 2, 4, 1, 3, 4, '{"dp":8}', 8, 600000, 'failed', 'exit', 6),
    (6, x'06000000000000000000000000000000', 2, 5, 1, 3, 5, '{"dp":8}', 8, 600000, 'failed', 'exit', 7),
    (7, x'07000000000000000000000000000000', 2, 6, 1, 3, 6, '{"dp":4}', 8, 600000, 'running', NULL, NULL),
    (8, x'08000000000000000000000000000000', 2, 7, 1, 3, 7, '{"dp":4}', 8, 600000, 'pending', NULL, NULL),
    (9, x'09000000000000000000000000000000', 1, 0, NULL, 2, NULL, NULL, 1, NULL, 'ok', NULL, 9);

INSERT INTO runner (id, host, boot_id, pid, start_ticks, started, ended, tool_version, provenance) VALUES
    (1, 'node1', 'boot', 1000, 5, 1700001000000, NULL, '0.1.0', '{"version":"0.1.0"}');

INSERT INTO attempt (id, job_id, number, runner_id, state, failure, message, command, environment, slot, started, ended,
                     duration_ms, exit_code, max_rss, directory) VALUES
    (1, 1, 1, 1, 'ok', NULL, NULL, '["train","--name","it''s tiny","--tp=1"]',
     '{"OMP_NUM_THREADS":"1","NOTE":"two words"}', 0, 1700001000000, 1700001010000, 10000, 0, 1048576, NULL),
    (2, 2, 1, 1, 'ok', NULL, NULL, '["train","--tp=1","--micro=2"]', '{}', 0, 1700001010000, 1700001020000, 10000, 0,
     2097152, NULL),
    (3, 3, 1, 1, 'ok', NULL, NULL, '["train","--tp=2"]', '{}', 0, 1700001020000, 1700001030000, 10000, 0, NULL, NULL),
    (4, 4, 1, 1, 'failed', 'oom', 'device out of memory', '["train"]', '{}', 0, 1700001030000, 1700001031000, 1000, 1,
     NULL, NULL),
    (5, 5, 1, 1, 'failed', 'lost', 'the runner died', '["train"]', '{}', 0, 1700001031000, 1700001032000, 1000, NULL,
     NULL, NULL),
    (6, 5, 2, 1, 'failed', 'exit', 'exit status 1: no such file', '["train"]', '{}', 0, 1700001032000, 1700001033000,
     1000, 1, NULL, NULL),
    (7, 6, 1, 1, 'failed', 'exit', 'exit status 1: no such file', '["train"]', '{}', 0, 1700001033000, 1700001034000,
     1000, 1, NULL, NULL),
    (8, 7, 1, 1, 'running', NULL, NULL, '["train"]', '{}', 0, 1700001034000, NULL, NULL, NULL, NULL, NULL),
    (9, 9, 1, 1, 'ok', NULL, NULL, '["old"]', '{}', 0, 1700000000000, 1700000001000, 1000, 0, NULL, NULL);

INSERT INTO metric (attempt_id, name, sequence, step, value) VALUES
    (1, 'throughput', 0, 0, 90.0), (1, 'throughput', 1, 1, 100.0), (1, 'loss', 0, 0, 2.5),
    (2, 'throughput', 0, 0, 99.0), (2, 'loss', 0, 0, NULL);
INSERT INTO summary (attempt_id, name, value, count, mean, median, minimum, maximum, stddev, p90, not_finite,
                     reported) VALUES
    (1, 'throughput', 100.0, 1, 100.0, 100.0, 100.0, 100.0, 0.0, 100.0, 0, 2),
    (1, 'loss', 2.5, 1, 2.5, 2.5, 2.5, 2.5, 0.0, 2.5, 0, 1),
    (2, 'throughput', 99.0, 1, 99.0, 99.0, 99.0, 99.0, 0.0, 99.0, 0, 1),
    (2, 'loss', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 1, 1),
    (3, 'throughput', 50.0, 1, 50.0, 50.0, 50.0, 50.0, 0.0, 50.0, 0, 1),
    (9, 'throughput', 1.0, 1, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0, 1);
UPDATE summary SET definition_id = 1 WHERE name = 'throughput';
