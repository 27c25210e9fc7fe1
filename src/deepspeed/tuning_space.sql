-- The sweep file of a tuning up to its blocks of specs, the axis of micro-batches (tuning_batches.sql), and whether
-- batches differ. Of `said`, `told` has what tuning_space.c says of the command, the tuner's section and the cluster.
WITH
fact AS (SELECT told ->> 'version' AS version, told ->> 'asked' AS asked, told ->> 'hostfile' AS hostfile,
    told ->> 'include' AS include, told ->> 'exclude' AS exclude, told ->> 'start_step' AS start_step,
    told ->> 'several_hosts' AS several_hosts, told ->> 'exclusive' AS exclusive,
    iif(told ->> 'base64', '{ds_config_base64}', '{ds_config}') AS config_word,
    nullif(config -> '$.autotuning.model_info.profile', 'null') <> 'true' AS not_profiled,
    nullif(config -> '$.autotuning.model_info.num_params', 'null') IS NOT NULL AS is_known_model
    FROM said),
-- Braces of the user's own words stand for themselves.
word (n, text) AS (
    SELECT w.key, quoted(w.value) FROM said, json_each(told, '$.launcher') AS w
    UNION ALL SELECT 1000000 + w.key, quoted(CASE WHEN w.key <> told ->> 'config_at' THEN replace(w.value, '{', '{{')
        WHEN w.value LIKE '--%=%' THEN substr(w.value, 1, instr(w.value, '=')) || config_word ELSE config_word END)
    FROM said, fact, json_each(told, '$.program') AS w
    UNION ALL SELECT 2000000 + w.key, printf('"--%s", "{%s}"', w.value, w.value)
    FROM said, json_each(told, '$.arguments') AS w),
-- Samples to skip: those up to the step that the flops profiler slows down, which is the one after the first profiled
-- step (runtime/engine.py counts steps from 0). Timers print from the first step on, throughput from the third
-- (utils/timer.py: ThroughputTimer, start_step).
warmup (n, metric, first) AS (SELECT 1, 'throughput', 3 UNION ALL SELECT 2, 'latency', iif(is_known, 3, 1) FROM answer
    UNION ALL SELECT 3, 'step_time', 3 UNION ALL VALUES (4, 'fwd', 1), (5, 'bwd', 1), (6, 'step', 1)),
"limit" (n, rule, key, most, why) AS (
    SELECT 1, 'num-nodes', 'num_hosts', told ->> 'most_nodes', '--num_nodes gives no more hosts' FROM said
    UNION ALL SELECT 2, 'num-gpus', 'num_devices_per_host', most_gpus, '--num_gpus gives no more devices of a host'
        FROM said
    UNION ALL SELECT 3, 'one-machine', 'num_hosts', told ->> 'here_alone',
        'without a hostfile (-H FILE) the launcher uses only this machine' FROM said)
SELECT '# Written by meshsweep deepspeed. `meshsweep run -c` with this file does the same; edit it as you like.

profile = ' || iif(told ->> 'trainers', '["deepspeed", "huggingface"]', '"deepspeed"') || '

[sweep]
name = ' || quoted(told ->> 'script') || '
objective = "' || (told ->> 'objective') || '"

[job]
command = [' || (SELECT group_concat(text, ', ') FROM (SELECT text FROM word ORDER BY n)) || ']
pass_env = [' || iif(told ->> 'clean', '"HF_HOME", "HF_TOKEN", "PYTHONPATH", "VIRTUAL_ENV"', '"*"' || coalesce((SELECT
    group_concat(', ' || quoted(value), '') FROM json_each(told, '$.secrets')), '')) || ']
separate_streams = true
timeout = ' || quoted(told ->> 'timeout') || '

# Steps up to the profiled one, which is slower, are left out.
' || (SELECT group_concat(printf('[job.metrics.%s]
warmup = %d
', metric, max(0, start_step + 2 - first)), '') FROM (SELECT * FROM warmup ORDER BY n)) || '
[deepspeed]
config = ' || quoted(told ->> 'ds_file') || coalesce('
version = ' || quoted(version), '') || coalesce(iif(version IS NULL, '
# version: ' || asked || ' has no package deepspeed', ' # as ' || asked || ' says'), '') || printf('
profile_steps = [%d, %d%s
', start_step, told ->> 'end_step', iif(told ->> 'most_step', printf(', %d] # up to the third if steps are short',
        told ->> 'most_step'), ']')) || coalesce('
[deepspeed.arg_mappings]
' || (SELECT group_concat(quoted(value ->> 0) || ' = ' || quoted(value ->> 1) || char(10), '')
        FROM json_each(told, '$.mappings')), '') || '
[search]
strategy = "' || (told ->> 'strategy') || '"
' || iif(told ->> 'shuffled', 'order = "shuffled"
', '') || iif(is_limited, 'equal_batch = false # a sample is a sample
', '') || (SELECT coalesce(group_concat(printf('%s = %d
', key, value), ''), '') FROM json_each(told, '$.search') WHERE value) || '
[predict]
' || iif(told ->> 'seeks', 'prune = "sound" # predictions only set the order; they exclude nothing
', '') || iif(coalesce(not_profiled, is_known_model), '', printf('
# One short job runs first to measure parameters and activation memory.
[model_info]
without = ["train_batch_size", "gradient_accumulation_steps"]

[model_info.with]
"train_micro_batch_size_per_gpu" = 1
"zero_optimization.stage" = %d
%s', told ->> 'highest', largest)) || '
[model]
name = ' || quoted(told ->> 'script') || char(10) || coalesce((SELECT group_concat(printf('%s = %d
', key, value), '') FROM json_each(told, '$.facts')), '') || '
[cluster_spec]
' || clusters || iif(exclusive OR several_hosts OR include IS NOT NULL OR exclude IS NOT NULL, '
[local]
' || iif(several_hosts, 'several_hosts = true
', '') || iif(exclusive, 'exclusive = true # the launcher has fixed devices or one fixed port, so jobs cannot run '
        || 'side by side
', '') || CASE WHEN hostfile IS NOT NULL THEN 'hostfile = ' || quoted(hostfile) || char(10)
        || coalesce('include = ' || quoted(include) || char(10), '')
        || coalesce('exclude = ' || quoted(exclude) || char(10), '')
    WHEN include IS NULL AND exclude IS NULL THEN '' ELSE 'devices = [' || coalesce((SELECT group_concat(value, ', ')
        FROM json_each(hosts, '$[0][1]')), '') || ']' || char(10) END, '')
    || coalesce((SELECT group_concat(printf('
[[rule]]
name = "%s"
require = "%s <= %d"
why = "%s"
source = "command line"
', rule, key, most, why), '') FROM (SELECT * FROM "limit" WHERE most > 0 ORDER BY n)), '') || '
[training_spec]
' || training || iif(told ->> 'host_bytes', replace(printf('
[[rule]]
name = "offload-host-memory"
require = "coalesce(offload_optimizer, ''none'') <> ''cpu'' OR BYTES * params <= %d"
why = "an optimizer on the host takes BYTES bytes of its memory for each parameter"
source = "DeepSpeed runtime/zero/stage_1_and_2.py: estimate_zero2_model_states_mem_needs"
', told ->> 'host_bytes'), 'BYTES', 16), ''), axis, differs
FROM said, fact, answer
