-- The built-in rules. A rule is an SQL predicate over the keys of a combination: false excludes the combination, NULL
-- (a key is missing) does not. Keys that no spec of a sweep has are NULL. Rules are tried in the order of `position`.
-- [sweep] disable_rules = ["name"] turns a rule off; a [[rule]] of the same name replaces it. A rule of level 'warn'
-- excludes nothing; the combinations that violate it are only counted.

CREATE TABLE builtin_rule (
    position INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,
    require  TEXT NOT NULL,
    reason   TEXT NOT NULL,
    source   TEXT NOT NULL,
    level    TEXT NOT NULL DEFAULT 'exclude',
    needs    TEXT NOT NULL,         -- keys without which it says nothing: "hidden heads", "tp|op|mp" for one of them;
                                    -- "[predict]": a table that asks for predictions
    since    TEXT,                  -- the first and the last release of what it is about that it holds for: "0.14"; NULL:
    until    TEXT,                  -- any. Without a release said the newest counts
    rule_set TEXT                   -- in force only where [sweep] rule_sets names it; NULL: always
);

INSERT INTO builtin_rule (position, name, level, needs, require, reason, source) VALUES
-- An absent degree counts as 1 as soon as one is given; with none given the plan is automatic and matches any cluster.
(10, 'world-size', 'exclude', 'dp|tp|pp|op|mp|cp',
 'CASE WHEN coalesce(dp, tp, pp, op, mp, cp) IS NOT NULL
       THEN coalesce(dp, 1) * coalesce(tp, op, mp, 1) * coalesce(pp, 1) * coalesce(cp, 1)
            = whole_gpus END',
 'the parallel degrees must multiply to the number of devices (num_hosts x num_devices_per_host)',
 'Megatron-LM arguments.py: world size = data x tensor x pipeline x context parallel size; ZHEN codesign config.py'),
-- A global batch of -1 is torchtitan's for what the others make.
(20, 'batch-triad', 'exclude', 'global_batch micro_batch gradient_accumulation',
 'CASE WHEN global_batch >= 0
       THEN global_batch = micro_batch * gradient_accumulation
                           * coalesce(dp, whole_gpus / (coalesce(tp, op, mp, 1) * coalesce(pp, 1) * coalesce(cp, 1))) END',
 'global batch must equal micro-batch x gradient accumulation x data-parallel degree',
 'DeepSpeed runtime/config.py: train_batch_size = micro_batch_per_gpu * gradient_acc_step * world_size'),
(30, 'batch-divides', 'exclude', 'global_batch micro_batch',
 'CASE WHEN global_batch >= 0
       THEN global_batch
            % (micro_batch * coalesce(dp, whole_gpus / (coalesce(tp, op, mp, 1) * coalesce(pp, 1) * coalesce(cp, 1)))) = 0 END',
 'global batch must be a multiple of micro-batch x data-parallel degree',
 'Megatron-LM num_microbatches_calculator.py'),
(40, 'hidden-divides-by-heads', 'exclude', 'hidden heads',
 'CASE WHEN coalesce(head_dim, kv_channels, head_size, qk_head_dim, kv_lora_rank) IS NULL THEN hidden % heads = 0 END',
 'hidden size must be a multiple of the number of attention heads, unless a head dimension is given',
 'Megatron-LM transformer_config.py: kv_channels = hidden_size / num_attention_heads where it is not given'),
(50, 'heads-divide-by-tp', 'exclude', 'heads tp|op|mp',
 'heads % coalesce(tp, op, mp) = 0',
 'attention heads must be a multiple of the tensor-parallel degree',
 'Megatron-LM transformer_config.py'),
(60, 'kv-heads-divide-by-tp', 'exclude', 'kv_heads tp|op|mp',
 'kv_heads % coalesce(tp, op, mp) = 0 OR coalesce(tp, op, mp) % kv_heads = 0',
 'key-value heads must divide among, or be replicated evenly over, the tensor-parallel ranks',
 'Megatron-LM transformer_config.py: num_query_groups'),
-- Frameworks cut what does not divide: nanotron by cost, DeepSpeed and torchtitan by their partition methods, Megatron-LM
-- by a layout. A profile whose framework asserts a split has a rule of its own.
(70, 'layers-divide-by-pp', 'warn', 'layers pp',
 'CASE WHEN coalesce(pipeline_layout, first_stage_layers, last_stage_layers) IS NULL
            AND NOT coalesce(account_embedding, false) AND NOT coalesce(account_loss, false)
       THEN layers % (pp * coalesce(vpp, 1)) = 0 END',
 'pipeline stages (x virtual stages) have different numbers of layers, so all wait for the slowest',
 'Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, 2021, section 2.2'),
-- A stage may hold the embedding, the head or a further head alone, but not nothing.
(75, 'stages-have-layers', 'exclude', 'layers pp',
 'pp <= layers + coalesce(decoder_layers, 0) + coalesce(mtp_layers, 0) + 2',
 'there are more pipeline stages than layers, embedding and head to put into them',
 'Megatron-LM pipeline_parallel_layer_layout.py: embedding, decoder, mtp and loss are what a stage may hold'),
-- picotron and Ulysses need one part for each rank, axolotl and llama3's ring pad. A profile whose framework asserts it
-- has a rule of its own.
(80, 'sequence-divides-by-cp', 'warn', 'seq cp',
 'seq % (2 * cp) = 0 OR cp = 1',
 'context parallelism with balanced causal attention cuts a sequence into 2 x ranks equal parts; otherwise ranks pad or wait',
 'Megatron-LM arguments.py: seq_length % (2 * context_parallel_size); picotron context_parallel.py: % cp_world_size'),
(90, 'sequence-divides-by-tp', 'exclude', 'seq sequence_parallel tp|op|mp',
 'CASE WHEN sequence_parallel THEN seq % coalesce(tp, op, mp) = 0 END',
 'with sequence parallelism the sequence length must be a multiple of the tensor-parallel degree',
 'Megatron-LM transformer_config.py: sequence_parallel'),
(100, 'experts-divide-by-ep', 'exclude', 'experts ep',
 'experts % ep = 0',
 'experts must be a multiple of the expert-parallel degree',
 'Megatron-LM transformer_config.py: num_moe_experts'),
(103, 'expert-ranks-divide-devices', 'exclude', 'ep',
 'whole_gpus % (ep * coalesce(etp, 1) * coalesce(pp, 1)) = 0',
 'expert-parallel x expert-tensor-parallel x pipeline-parallel degree must divide the number of devices',
 'Megatron-LM parallel_state.py: world_size % expert_tensor_model_pipeline_parallel_size; torchtitan parallel_dims.py'),
(106, 'shards-divide-ranks', 'exclude', 'shard_ranks',
 'CASE WHEN shard_ranks > 0
       THEN coalesce(dp, whole_gpus / (coalesce(tp, op, mp, 1) * coalesce(pp, 1) * coalesce(cp, 1))) * coalesce(cp, 1)
            % shard_ranks = 0 END',
 'the ranks that share a parameter must divide the data-parallel (x context-parallel) ranks evenly',
 'torch distributed/device_mesh.py: a mesh of replicate x shard holds every rank once'),
(110, 'micro-batches-fill-pipeline', 'warn', 'pp gradient_accumulation',
 'CASE WHEN pp > 1 THEN gradient_accumulation >= pp END',
 'fewer micro-batches than pipeline stages leave stages idle',
 'Huang et al., GPipe, 2019, section 2.3'),
(120, 'tp-within-node', 'warn', 'tp|op|mp',
 'coalesce(tp, op, mp) <= gpus_per_node',
 'tensor parallelism across nodes is usually slower than any alternative',
 'Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, 2021, section 5.4'),
(130, 'memory.fits', 'exclude', '[predict]',
 'predicted_fits',
 'is predicted to need more device memory than there is (meshsweep predict shows how much)',
 'predict/memory.h; [predict] prune, certain, risky and audit'),
(140, 'memory.risky', 'warn', '[predict]',
 'predicted_risk <> 2',
 'is predicted to need about as much device memory as there is, so it runs last',
 'predict/memory.h; [predict] certain and risky');
