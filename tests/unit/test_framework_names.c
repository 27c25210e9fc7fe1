/* Profiles: what a framework's own arguments say is what the inputs of predictions say by their names, and is not
 * ignored. */
#include "value_fixture.h"

#define MODEL                                                                                                          \
    "[[model]]\nlayers = 32\nhidden = 2048\nheads = 16\nvocab = 50257\nseq = 2048\nffn = "                             \
    "8192\nmax_position_embeddings = 2048\n"
#define LORA "peft = \"lora\"\nlora_rank = 16\nlora_targets = \"q_proj v_proj\"\n"
#define EXPERTS "experts = 8\nexperts_per_token = 2\nexpert_ffn = 2048\n"

/* The same of a framework in its own words and in those of the inputs; `without` is what it would be if neither were
 * understood. */
static const struct saying {
    const char *profile, *always, *theirs, *ours;
} sayings[] = {
    {"megatron", "", "tp_size = 2\n", "tp = 2\n"},
    {"megatron", "", "pp_size = 4\n", "pp = 4\n"},
    {"megatron", "pp_size = 4\n", "vp_size = 2\n", "vpp = 2\n"},
    {"megatron", "", "cp_size = 4\n", "cp = 4\n"},
    {"megatron", EXPERTS, "ep_size = 4\n", "ep = 4\n"},
    {"megatron", EXPERTS "tp_size = 2\nep_size = 4\n", "etp_size = 1\n", "etp = 1\n"},
    {"megatron", "", "use_rotary_position_embeddings = true\n", "positions = 0\n"},
    {"megatron", "", "normalization = \"rmsnorm\"\n", "rms_norm = true\n"},
    {"megatron", "", "checkpoint_activations = true\n", "recompute = \"full\"\n"},
    {"megatron", "", "deepspeed_activation_checkpointing = true\n", "recompute = \"full\"\n"},
    {"megatron", "", "cpu_optimizer = true\n", "offload = \"optimizer\"\n"},
    {"megatron", EXPERTS, "expert_interval = 2\n", "dense_layers = 16\n"},
    {"megatron", EXPERTS, "mlp_type = \"residual\"\n", "shared_ffn = 8192\n"},
    {"megatron", EXPERTS, "moe_expert_parallel_size = 4\n", "ep = 4\n"},
    {"megatron", "", "ds_sequence_parallel_size = 4\n", "cp = 4\n"},
    {"megatron", "", "decoder_seq_length = 128\n", "family = \"t5\"\ndecoder_seq = 128\n"},
    {"megatron", "", "use_mcore_fsdp = 1\n", "zero_stage = 3\n"},
    {"megatron", "", "activation_offload_layers = 2\n", "offload_layers = 2\n"},
    {"megatron", "recompute = \"selective\"\n", "recompute_modules = \"layernorm/mlp\"\n",
     "recompute_modules = \"layernorm mlp\"\n"},
    {"megatron", "", "untie_embeddings_and_output_weights = true\n", "tied_embeddings = false\n"},
    {"megatron", "", "disable_bias_linear = true\n", "biases = false\n"},
    {"megatron", "kv_heads = 4\n", "group_query_attention = false\n", "heads_of_keys = 16\n"},
    {"megatron", "", "num_query_groups = 4\n", "kv_heads = 4\n"},
    {"megatron", "", "position_embedding_type = \"rope\"\n", "positions = 0\n"},
    {"megatron", "", "recompute_activations = true\nattention_backend = \"unfused\"\n",
     "recompute = \"selective\"\nflash_attention = false\n"},
    {"megatron", "", "attention_backend = \"unfused\"\n", "flash_attention = false\n"},
    {"megatron", "", "grad_reduce_in_bf16 = true\n", "gradient_bytes = 2\n"},
    {"megatron", "use_distributed_optimizer = true\n", "exp_avg_dtype = \"bf16\"\nexp_avg_sq_dtype = \"bf16\"\n",
     "moment_bytes = 4\n"},
    {"megatron", "use_distributed_optimizer = true\n", "use_precision_aware_optimizer = true\n", "moment_bytes = 6\n"},
    {"megatron", "use_distributed_optimizer = true\n",
     "use_precision_aware_optimizer = true\nstore_param_remainders = false\nexp_avg_dtype = \"bf16\"\n",
     "moment_bytes = 6\n"},
    {"megatron", "use_distributed_optimizer = true\n",
     "use_precision_aware_optimizer = true\nmain_params_dtype = \"fp16\"\nfp8_recipe = \"tensorwise\"\n",
     "moment_bytes = 6\nfp8_recipe = \"tensorwise\"\n"},
    {"megatron", "", "optimizer_cpu_offload = true\n", "offload = \"optimizer\"\n"},
    {"megatron", "", "data_parallel_sharding_strategy = \"optim_grads_params\"\n", "zero_stage = 3\n"},
    {"megatron", "pp = 2\n", "num_layers_per_virtual_pipeline_stage = 4\n", "vpp = 4\n"},
    {"megatron", "pp = 2\n", "num_virtual_stages_per_pipeline_rank = 4\n", "vpp = 4\n"},
    {"megatron", "", "num_moe_experts = 8\nexperts_per_token = 2\nexpert_ffn = 2048\n", EXPERTS},
    {"megatron", "", "use_torch_fsdp2 = true\n", "zero_stage = 3\ngradient_bytes = 2\n"},
    {"megatron", "", "use_torch_fsdp2 = true\ntorch_fsdp2_reshard_after_forward = false\n",
     "zero_stage = 2\ngradient_bytes = 2\n"},
    {"megatron", "", "model_type = \"mamba\"\nhybrid_attention_ratio = 0.25\nhybrid_mlp_ratio = 0.25\n",
     "family = \"hybrid\"\nhybrid_pattern = \"MM*-MM*-MM*-MM*-MM*-MM*-MM*-MM*-\"\n"},
    {"megatron", EXPERTS, "moe_shared_expert_intermediate_size = 4096\n", "shared_ffn = 4096\n"},
    {"megatron", EXPERTS, "moe_layer_freq = \"([0]*3+[1]*29)\"\n", "dense_layers = 3\n"},
    {"megatron", EXPERTS, "moe_layer_freq = \"[0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\"\n",
     "dense_layers = 3\n"},
    {"megatron", EXPERTS, "moe_layer_freq = \"2\"\n", "dense_layers = 16\n"},
    {"megatron", EXPERTS "ep = 2\n", "moe_router_force_load_balancing = true\n", "balanced_experts = true\n"},
    {"megatron", "precision = \"fp8\"\n", "first_last_layers_bf16 = true\nnum_layers_at_end_in_bf16 = 3\n",
     "bf16_layers = 4\n"},
    {"megatron", EXPERTS, "moe_layer_freq = 2\n", "dense_layers = 16\n"},
    {"megatron", "", "fp8_format = \"hybrid\"\n", "precision = \"fp8\"\n"},
    {"megatron", "", "window_size = \"(127, 0)\"\nwindow_attn_skip_freq = 4\n",
     "sliding_window = 128\nwindow_layers = 24\n"},
    {"megatron", "",
     "experimental_attention_variant = \"gated_delta_net\"\nlinear_attention_freq = 4\nlinear_num_value_heads = 16\n",
     "mixer = \"gated-delta\"\nmixer_layers = 24\nlinear_num_value_heads = 16\n"},
    {"megatron", "pp = 2\n", "hybrid_layer_pattern = \"M-M-M-M*|M-M-M-M*|M-M-M-M*|M-M-M-M*\"\n",
     "hybrid_pattern = \"M-M-M-M*M-M-M-M*M-M-M-M*M-M-M-M*\"\nvpp = 2\n"},
    {"torchtitan", "", "activation_checkpoint.mode = \"full\"\n", "recompute = \"full\"\n"},
    {"torchtitan", "",
     "activation_checkpoint.mode = \"selective\"\nactivation_checkpoint.selective_ac_option = \"op\"\n",
     "recompute = \"selective-op\"\n"},
    {"torchtitan", "",
     "activation_checkpoint.mode = \"selective\"\nactivation_checkpoint.selective_ac_option = \"2\"\n",
     "recompute = \"full\"\nrecompute_every = 2\n"},
    {"torchtitan", "", "data_parallel_replicate_degree = 4\n", "shard_ranks = 4\n"},
    {"torchtitan", "", "gpu_type = \"NVIDIA B200\"\n", "flash_attention = \"fused\"\ndevice = \"B200\"\n"},
    {"torchtitan", "pp = 4\n", "pipeline_parallel_schedule = \"Interleaved1F1B\"\n", "vpp = 2\n"},
    {"torchtitan", "pp = 4\n",
     "pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_layers_per_stage = 3\n", "vpp = 3\n"},
    {"torchtitan", "pp = 4\n", "pipeline_parallel_schedule = \"InterleavedZeroBubble\"\n", "vpp = 2\n"},
    {"torchtitan", "tp = 2\n", "enable_sequence_parallel = false\n", "sequence_parallel = false\n"},
    {"torchtitan", "", "activation_checkpoint = \"SelectiveAC\"\n", "recompute = \"selective-op\"\n"},
    {"torchtitan", "", "compile.enable = true\n", "compiled = true\nloss_kernel = \"fused\"\n"},
    {"torchtitan", "activation_checkpoint.mode = \"full\"\n", "training.compile = true\n",
     "compiled = true\nloss_kernel = \"fused\"\n"},
    {"torchtitan", "activation_checkpoint.mode = \"full\"\n", "compile = true\n",
     "compiled = true\nloss_kernel = \"fused\"\n"},
    {"torchtitan", "",
     "activation_checkpoint.mode = \"none\"\ncompile.enable = true\ncompile.components = [\"model\"]\n",
     "compiled = true\ncompile.components = [\"model\"]\n"},
    {"torchtitan", "pp = 4\n", "training.global_batch_size = -1\npipeline_parallel_schedule = \"GPipe\"\n",
     "schedule = \"gpipe\"\n"},
    {"torchtitan", "", "model.converters = [\"quantize.linear.float8\"]\n",
     "precision = \"fp8\"\ncast_kernel = \"eager\"\n"},
    {"torchtitan", "", "training.dtype = \"bfloat16\"\n", "weights_dtype = \"bf16\"\n"},
    {"torchtitan", "", "dtype = \"float32\"\nmixed_precision_param = \"float32\"\n", "precision = \"fp32\"\n"},
    {"torchtitan", "training.dtype = \"bfloat16\"\n", "mixed_precision_param = \"float32\"\n",
     "precision = \"fp32\"\n"},
    {"torchtitan", "training.compile = true\n", "release = \"2024-12\"\n", "compile.components = [\"model\"]\n"},
    {"torchtitan", "", "loss = \"ChunkedLossWrapper\"\n", "chunked_loss = 1\n"},
    {"torchtitan", "", "release = \"2026-06-01\"\n", "chunked_loss = 1\n"},
    {"torchtitan", "", "parallelism.fsdp_reshard_after_forward = \"never\"\n", "zero_stage = 2\n"},
    {"torchtitan", "", "training.enable_cpu_offload = true\n", "offload = \"parameters\"\n"},
    {"nanotron", "", "parallelism.tp = 2\n", "tp = 2\n"},
    {"nanotron", "tp = 2\n", "parallelism.tp_mode = \"REDUCE_SCATTER\"\n", "sequence_parallel = true\n"},
    {"nanotron", "pp = 4\n", "parallelism.pp_engine = \"afab\"\n", "schedule = \"gpipe\"\n"},
    {"nanotron", "", "recompute_layer = true\n", "recompute = \"full\"\n"},
    {"nanotron", "", "optimizer.zero_stage = 1\n", "zero_stage = 1\n"},
    {"deepspeed", "", "sequence_parallel_size = 4\n", "cp = 4\ndp = 4\n"},
    {"megatron", "", "mixed_precision = \"bf16_with_fp8_current_scaling_mixed\"\n", "precision = \"fp8\"\n"},
    {"hf-trainer", "", "mixed_precision = \"no\"\n", "precision = \"fp32\"\n"},
    {"torch-ddp", "pp = 4\n", "pp_style = \"zbv\"\ngrad_checkpoint = true\n",
     "schedule = \"zb-v\"\nrecompute = \"full\"\n"},
    {"torch-ddp", "", "sp = 4\n", "cp = 4\n"},
    {"hf-trainer", "", "deepspeed = \"deepspeed_configs/zero2.json\"\n", "zero_stage = 2\n"},
    {"hf-trainer", "", "deepspeed = \"examples/deepspeed/ds_z3_offload_config.json\"\n",
     "zero_stage = 3\noffload = \"parameters\"\n"},
    {"hf-trainer", "", "peft_config.name = \"lora\"\npeft_config.r = 16\npeft_config.target_modules = \"all\"\n",
     "peft = \"lora\"\nlora_rank = 16\nlora_targets = \"all\"\n"},
    {"hf-trainer", "finetuning_type = \"full\"\n", "recompute = \"none\"\n", "gradient_checkpointing = false\n"},
    {"hf-trainer", "recompute = \"full\"\n", "finetuning_type = \"full\"\n", "weights_dtype = \"fp32\"\n"},
    {"hf-trainer", "bf16 = true\n", "torch_dtype = \"float32\"\n", "weights_dtype = \"fp32\"\n"},
    {"hf-trainer", "recompute = \"full\"\n", "optim = \"adamw_torch\"\n", "optimizer_kernel = \"foreach\"\n"},
    {"hf-trainer", "", "fp32 = true\ntf32 = true\n", "precision = \"tf32\"\n"},
    {"olmo", "", "model.mlp_hidden_size = 4096\n", "gated_mlp = true\nmlp_hidden_size = 4096\n"},
    {"olmo", "", "activation_type = \"gelu\"\nmlp_hidden_size = 8192\n",
     "mlp_hidden_size = 8192\nmodel.activation_type = \"gelu\"\n"},
    {"olmo", "", "model.multi_query_attention = true\n", "n_kv_heads = 1\n"},
    {"olmo", "", "model.embedding_size = 100352\n", "embedding_size = 100352\n"},
    {"olmo", "", "weight_tying = false\n", "model.weight_tying = false\n"},
    {"olmo", "", "activation_checkpointing = \"one_in_four\"\n", "recompute = \"full\"\nrecompute_every = 4\n"},
    {"olmo", "", "distributed_strategy = \"ddp\"\n", "zero_stage = 0\n"},
    {"olmo", "", "fsdp.sharding_strategy = \"HYBRID_SHARD\"\n", "zero_stage = 3\nshard_ranks = 8\n"},
    {"olmo", "", "fsdp.sharding_strategy = \"HYBRID_SHARD\"\nfsdp.hybrid_sharding_num_model_replicas = 4\n",
     "zero_stage = 3\nshard_ranks = 4\n"},
    {"olmo", "", "fsdp.precision = \"mixed\"\n", "gradient_bytes = 4\n"},
    {"olmo", "", "fused_loss = true\n", "loss_kernel = \"fused\"\n"},
    {"olmo", "", "optimizer.name = \"lionw\"\n", "optimizer = \"lion\"\n"},
    {"lingua", "fsdp_type = \"full_shard\"\n", "model.multiple_of = 1024\nmodel.ffn_dim_multiplier = 1.5\n",
     "multiple_of = 1024\nffn_dim_multiplier = 1.5\n"},
    {"lingua", "kv_heads = 4\nfsdp_type = \"full_shard\"\n", "distributed.tp_size = 2\n",
     "tp = 2\nsequence_parallel = true\n"},
    {"lingua", "", "distributed.fsdp_type = \"full_shard\"\n", "fsdp_type = \"full_shard\"\nzero_stage = 3\n"},
    {"lingua", "fsdp_type = \"full_shard\"\n", "distributed.dp_shard = 8\n", "shard_ranks = 8\n"},
    {"lingua", "", "distributed.compile = true\n", "compile = true\ncompiled = true\nloss_kernel = \"fused\"\n"},
    {"lingua", "", "distributed.selective_activation_checkpointing = true\n",
     "selective_activation_checkpointing = true\n"},
    {"lingua", "", "distributed.float8_recipe = \"rowwise\"\n", "precision = \"fp8\"\ncast_kernel = \"eager\"\n"},
    {"lingua", "", "model.weight_tying = true\n", "weight_tying = true\n"},
    {"olmo-core", "", "train_module.dp_config.name = \"hsdp\"\n", "zero_stage = 3\nshard_ranks = 8\n"},
    {"olmo-core", "", "train_module.dp_config.name = \"hsdp\"\ntrain_module.dp_config.num_replicas = 4\n",
     "zero_stage = 3\nshard_ranks = 4\n"},
    {"olmo-core", "", "train_module.ac_config.mode = \"selected_blocks\"\ntrain_module.ac_config.block_interval = 2\n",
     "recompute = \"full\"\nrecompute_every = 2\n"},
    {"olmo-core", "",
     "train_module.ac_config.mode = \"selected_modules\"\ntrain_module.ac_config.modules = \"blocks.*.feed_forward\"\n",
     "recompute = \"selective\"\nrecompute_modules = \"mlp\"\n"},
    {"olmo-core", "",
     "train_module.compile_model = true\ntrain_module.ac_config.mode = \"budget\"\n"
     "train_module.ac_config.activation_memory_budget = 0.25\n",
     "compiled = true\nrecompute = \"full\"\nrecompute_layers = 24\nrecompute_method = \"block\"\n"},
    {"olmo-core", "", "train_module.dp_config.reduce_dtype = \"bfloat16\"\n", "gradient_bytes = 2\n"},
    {"olmo-core", "", "train_module.float8_config.enabled = true\n", "precision = \"fp8\"\ncast_kernel = \"eager\"\n"},
    {"llm-foundry", "", "fsdp_config.sharding_strategy = \"HYBRID_SHARD\"\n", "zero_stage = 3\nshard_ranks = 8\n"},
    {"llm-foundry", "", "fsdp_config.activation_checkpointing = true\n", "recompute = \"full\"\n"},
    {"llm-foundry", "", "model.loss_fn = \"torch_crossentropy\"\n", "loss_kernel = \"eager\"\n"},
    {"llm-foundry", "", "model.no_bias = true\n", "biases = false\n"},
    {"llm-foundry", "", "model.attn_config.alibi = true\n", "positions = 0\n"},
    {"llm-foundry", "", "model.attn_config.attn_type = \"multiquery_attention\"\n", "kv_heads = 1\n"},
    {"llm-foundry", "", "model.attn_config.attn_impl = \"torch\"\n", "flash_attention = false\n"},
    {"llm-foundry", "", "model.ffn_config.ffn_hidden_size = 6144\n", "ffn_hidden_size = 6144\n"},
    {"llm-foundry", "", "precision = \"amp_fp8\"\n", "precision = \"fp8\"\n"},
    {"hf-trainer", "", "attn_impl = \"eager\"\n", "flash_attention = false\n"},
    {"hf-trainer", "zero_stage = 3\n", "sequence_parallel_size = 4\n", "cp = 4\n"},
    {"hf-trainer", "", "tuner_type = \"lora\"\n", "peft = \"lora\"\nlora_rank = 8\nlora_targets = \"all-linear\"\n"},
    {"hf-trainer", LORA, "train_type = \"lora\"\nquant_method = \"bnb\"\nquant_bits = 4\n",
     "quantization = \"nf4-dq\"\n"},
    {"levanter", "", "trainer.model_axis_size = 2\n", "tp = 2\n"},
    {"levanter", "", "model.gradient_checkpointing = false\n", "recompute = \"none\"\n"},
    {"levanter", "", "trainer.replica_dcn_axis_size = 4\n", "shard_ranks = 4\n"},
    {"levanter", "", "model.attn_backend = \"vanilla\"\n", "flash_attention = false\n"},
    {"levanter", "", "trainer.mp = \"f32\"\n", "precision = \"fp32\"\n"},
    {"colossalai", "", "plugin = \"gemini\"\n", "zero_stage = 3\n"},
    {"colossalai", "", "tp_size = 2\nzero = 1\n", "tp = 2\nzero_stage = 1\n"},
    {"colossalai", "", "grad_checkpoint = true\nxformers = true\n", "recompute = \"full\"\nflash_attention = true\n"},
    {"colossalai", "", "sp = 2\n", "cp = 2\n"},
    {"torchtitan", "", "activation_checkpoint.mode = \"memory_budget\"\nactivation_checkpoint.memory_budget = 0.25\n",
     "recompute = \"full\"\nrecompute_layers = 24\nrecompute_method = \"block\"\n"},
    {"litgpt", "recompute = \"full\"\n", "lora_r = 16\nlora_mlp = true\n",
     "lora_r = 16\nlora_targets = \"q_proj v_proj gate_proj up_proj down_proj\"\nlora_mlp = true\n"},
    {"litgpt", "", "model_config.mlp_class_name = \"GptNeoxMLP\"\n", "family = \"gpt\"\ngated_mlp = false\n"},
    {"litgpt", "", "precision = \"bf16-mixed\"\n", "weights_dtype = \"fp32\"\nbf16 = true\n"},
    {"litgpt", "", "model_config.n_query_groups = 4\n", "n_query_groups = 4\n"},
    {"litgpt", "", "train.tie_embeddings = true\n", "tie_embeddings = true\n"},
    {"litgpt", "", "checkpoint_dir = \"checkpoints/x\"\n", "checkpoint_dir = \"y\"\nrecompute = \"full\"\n"},
    {"verl", "", "actor_rollout_ref.actor.strategy = \"megatron\"\n",
     "framework = \"megatron\"\nstrategy = \"megatron\"\n"},
    {"verl", "", "actor_rollout_ref.actor.megatron.tensor_model_parallel_size = 2\n",
     "strategy = \"megatron\"\ntp = 2\n"},
    {"verl", "", "actor_rollout_ref.actor.megatron.context_parallel_size = 4\n",
     "strategy = \"megatron\"\ncontext_parallel_size = 4\n"},
    {"verl", "", "actor_rollout_ref.actor.ulysses_sequence_parallel_size = 2\n", "ulysses = 2\n"},
    {"verl", "", "actor_rollout_ref.actor.fsdp_config.fsdp_size = 8\n", "shard_ranks = 8\n"},
    {"verl", "", "actor_rollout_ref.actor.fsdp_config.reshard_after_forward = false\n",
     "fsdp_size = 16\nactor_rollout_ref.actor.fsdp_config.reshard_after_forward = false\n"},
    {"verl", "", "actor_rollout_ref.model.enable_gradient_checkpointing = false\n", "checkpointing = false\n"},
    {"verl", "strategy = \"megatron\"\n",
     "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity = \"full\"\n",
     "granularity = \"full\"\n"},
    {"verl", "", "data.max_prompt_length = 512\ndata.max_response_length = 1024\n",
     "prompt_length = 512\nresponse_length = 1024\n"},
    {"verl", "", "actor_rollout_ref.actor.ppo_mini_batch_size = 64\nactor_rollout_ref.rollout.n = 8\n",
     "mini_batch = 512\n"},
    {"verl", "", "actor_rollout_ref.model.use_fused_kernels = true\n",
     "actor_rollout_ref.model.use_fused_kernels = true\nactor_rollout_ref.actor.entropy_coeff = 0\n"},
    {"nemo-rl", "", "policy.megatron_cfg.enabled = true\n", "framework = \"megatron\"\nuses_megatron = true\n"},
    {"nemo-rl", "uses_megatron = true\n",
     "policy.megatron_cfg.tensor_model_parallel_size = 2\npolicy.megatron_cfg.sequence_parallel = true\n",
     "tp = 2\nsequence_parallel = true\npolicy.megatron_cfg.sequence_parallel = true\n"},
    {"nemo-rl", "uses_megatron = true\n", "policy.megatron_cfg.pipeline_model_parallel_size = 4\n", "pp = 4\n"},
    {"nemo-rl", "uses_megatron = true\n", "policy.megatron_cfg.activation_checkpointing = true\n",
     "policy.megatron_cfg.activation_checkpointing = 1\n"},
    {"nemo-rl", "", "policy.dtensor_cfg.context_parallel_size = 4\n", "cp = 4\n"},
    {"nemo-rl", "", "policy.dtensor_cfg.dp_replicate_size = 4\n", "shard_ranks = 4\n"},
    {"nemo-rl", "", "policy.dtensor_cfg.cpu_offload = true\n", "policy.dtensor_cfg.cpu_offload = 1\n"},
    {"nemo-rl", "", "policy.dtensor_cfg.lora_cfg.enabled = true\npolicy.dtensor_cfg.lora_cfg.dim = 16\n",
     "peft = \"lora\"\nlora_rank = 16\nlora_targets = \"all-linear\"\n"},
    {"picotron", "", "distributed.tp_size = 2\n", "tp = 2\n"},
    {"picotron", "", "distributed.cp_size = 2\n", "cp = 2\n"},
    {"picotron", "distributed.pp_size = 4\n", "distributed.pp_engine = \"afab\"\n", "schedule = \"gpipe\"\n"},
    {"picotron", "", "model.use_flash_attention = false\n", "flash_attention = false\n"},
    {"picotron", "", "use_flash_attention = true\n", "flash_attention = true\nnorm_kernel = \"fused\"\n"},
    {"picotron", "cp_size = 8\n", "model.use_fused_adam = true\n", "use_fused_adam = true\n"},
    {"torchtune", "", "tensor_parallel_dim = 2\n", "tp = 2\n"},
    {"torchtune", "", "context_parallel_dim = 2\n", "cp = 2\n"},
    {"torchtune", "", "data_parallel_replicate_dim = 4\n", "shard_ranks = 4\n"},
    {"torchtune", "", "enable_activation_checkpointing = true\n", "recompute = \"full\"\n"},
    {"torchtune", "", "ac_mode = \"selective\"\nac_option = 2\n", "recompute = \"full\"\nrecompute_every = 2\n"},
    {"torchtune", "", "enable_activation_checkpointing = true\nenable_activation_offloading = true\n",
     "recompute = \"full\"\noffload_layers = 32\n"},
    {"torchtune", "", "fsdp_cpu_offload = true\n", "offload = \"parameters\"\n"},
    {"torchtune", "recompute = \"full\"\n", "custom_sharded_layers = [\"tok_embeddings\", \"output\"]\n",
     "vocab_units = true\n"},
    {"torchtune", "", "compile = true\n", "compiled = true\n"},
    {"torchtune", "", "loss._component_ = \"torch.nn.CrossEntropyLoss\"\n", "chunked_loss = false\n"},
    {"torchtune", "recompute = \"full\"\n", "optimizer._component_ = \"bitsandbytes.optim.PagedAdamW8bit\"\n",
     "optimizer = \"adam-8bit\"\noptimizer_kernel = \"fused\"\n"},
    {"torchtune", "recompute = \"full\"\nzero_stage = 0\n",
     "optimizer._component_ = \"torch.optim.AdamW\"\noptimizer.fused = true\n", "optimizer_kernel = \"fused\"\n"},
    {"torchtune", "",
     "model._component_ = \"torchtune.models.llama3.qlora_llama3_8b\"\nmodel.lora_rank = 16\n"
     "model.lora_attn_modules = \"q_proj, v_proj, output_proj\"\nmodel.apply_lora_to_mlp = true\n",
     "peft = \"qlora\"\nquantization = \"nf4-dq\"\nlora_rank = 16\n"
     "lora_targets = \"q_proj v_proj o_proj gate_proj up_proj down_proj\"\n"},
    {"torchtune", "",
     "model._component_ = \"torchtune.models.llama3.lora_llama3_8b\"\nmodel.use_dora = true\n"
     "model.lora_attn_modules = \"q_proj\"\nmodel.apply_lora_to_output = true\n",
     "peft = \"dora\"\nlora_rank = 8\nlora_targets = \"q_proj lm_head\"\n"},
    {"torch-ddp", "pp = 4\n", "num_model_chunks = 2\n", "vpp = 2\n"},
    {"hf-trainer", "zero_stage = 3\n", "parallelism_config_cp_size = 2\n", "cp = 2\n"},
    {"gpt-neox", "", "model_parallel_size = 2\n", "tp = 2\n"},
    {"gpt-neox", "", "pipe_parallel_size = 4\n", "pp = 4\n"},
    {"gpt-neox", "pipe_parallel_size = 0\n", "no_weight_tying = true\n", "tied_embeddings = false\n"},
    {"gpt-neox", "", "checkpoint_activations = true\n", "recompute = \"full\"\n"},
    {"gpt-neox", "", "attention_config = \"[[['flash'], 32]]\"\n", "flash_attention = true\n"},
    {"gpt-neox", "", "pos_emb = \"rotary\"\nnorm = \"rmsnorm\"\ngpt_j_residual = true\n",
     "positions = 0\nrms_norm = true\nparallel_blocks = true\n"},
    {"gpt-neox", "", "activation = \"swiglu\"\nmlp_multiple_of = 256\nintermediate_size = 24576\n",
     "gated_mlp = true\n"},
    {"maxtext", "ici_fsdp_parallelism = -1\n", "ici_tensor_parallelism = 2\n", "tp = 2\n"},
    {"maxtext", "", "ici_data_parallelism = 4\n", "shard_ranks = 4\n"},
    {"maxtext", "", "ici_fsdp_parallelism = 1\nici_data_parallelism = 16\n", "zero_stage = 0\n"},
    {"maxtext", "", "dcn_data_parallelism = 2\nnum_slices = 2\n", "shard_ranks = 8\n"},
    {"maxtext", "", "ici_context_parallelism = 4\n", "cp = 4\n"},
    {"maxtext", "num_experts = 8\nexperts_per_token = 2\nexpert_ffn = 2048\n", "ici_expert_parallelism = 4\n",
     "ep = 4\n"},
    {"maxtext", "", "remat_policy = \"minimal\"\n",
     "recompute = \"selective\"\nrecompute_modules = \"core_attn layernorm moe_act\"\n"},
    {"maxtext", "", "remat_policy = \"save_dot_except_mlp\"\n",
     "recompute = \"selective\"\nrecompute_modules = \"core_attn layernorm mlp moe\"\n"},
    {"maxtext", "", "remat_policy = \"custom\"\ndecoder_layer_input = \"offload\"\n", "offload_layers = 32\n"},
    {"maxtext", "", "attention = \"dot_product\"\n", "flash_attention = false\n"},
    {"maxtext", "attention = \"cudnn_flash_te\"\n", "quantization = \"fp8_full\"\n", "precision = \"fp8\"\n"},
    {"maxtext", "", "weight_dtype = \"bfloat16\"\n", "weights_dtype = \"bf16\"\n"},
    {"maxtext", "", "mu_dtype = \"bfloat16\"\n", "moment_bytes = 6\n"},
    {"maxtext", "", "grad_dtype = \"bfloat16\"\n", "gradient_bytes = 2\n"},
    {"maxtext", "", "optimizer_memory_host_offload = true\n", "offload = \"optimizer\"\n"},
    {"maxtext", "", "ici_tensor_parallelism = 4\n", "tp = 4\nsequence_parallel = true\n"},
    {"maxtext", "", "num_vocab_tiling = 8\n", "loss_kernel = \"linear\"\n"},
    {"maxtext", "", "opt_type = \"sgd\"\n", "optimizer = \"sgd\"\n"},
    {"internevo", "", "parallel.tensor.size = 2\n", "tp = 2\n"},
    {"internevo", "", "parallel.tensor.size = 2\nparallel.tensor.mode = \"msp\"\n",
     "tp = 2\nsequence_parallel = true\n"},
    {"internevo", "", "parallel.tensor.size = 2\nparallel.tensor.mode = \"isp\"\nparallel.weight.size = 4\n",
     "cp = 2\nzero_stage = 3\nshard_ranks = 4\n"},
    {"internevo", "", "parallel.pipeline.size = 4\n", "pp = 4\n"},
    {"internevo", "", "parallel.zero1.size = 4\n", "zero_stage = 1\nshard_ranks = 4\n"},
    {"internevo", "", "parallel.zero1 = 1\n", "zero_stage = 0\n"},
    {"internevo", "", "model.checkpoint = true\n", "recompute = \"full\"\n"},
    {"internevo", "", "model.checkpoint = 0.5\n",
     "recompute = \"full\"\nrecompute_method = \"block\"\nrecompute_layers = 16\n"},
    {"internevo", "", "model.dtype = \"torch.float32\"\n", "precision = \"fp32\"\n"},
    {"fsdp", "", "sharding_strategy = \"SHARD_GRAD_OP\"\n", "zero_stage = 2\n"},
    {"fsdp2", "", "sharding_strategy = \"NO_SHARD\"\n", "zero_stage = 0\n"},
    {"hf-trainer", "", "attn_implementation = \"eager\"\n", "flash_attention = false\n"},
    {"hf-trainer", LORA, "load_in_4bit = true\nbnb_4bit_quant_type = \"nf4\"\n", "quantization = \"nf4\"\n"},
    {"hf-trainer", LORA, "load_in_4bit = true\nbnb_4bit_use_double_quant = true\n", "quantization = \"nf4-dq\"\n"},
    {"hf-trainer", LORA, "load_in_8bit = true\n", "quantization = \"int8\"\n"},
    {"hf-trainer", LORA, "quantization = \"awq\"\nkbit_preparation = true\n", "quantization = \"gptq\"\n"},
    {"hf-trainer", LORA, "quantization = \"hqq\"\nkbit_preparation = true\n", "quantization = \"hqq\"\n"},
    {"hf-trainer", LORA, "quantization_bit = 8\nquantization_method = \"eetq\"\n", "quantization = \"eetq\"\n"},
    {"hf-trainer", LORA, "quant_method = \"aqlm\"\nkbit_preparation = true\n", "quantization = \"aqlm\"\n"},
    {"hf-trainer", LORA, "quant_method = \"fp8\"\n", "quantization = \"fp8\"\n"},
    {"hf-trainer", LORA, "additional_target = \"embed_tokens,lm_head\"\n",
     "modules_to_save = \"lm_head embed_tokens\"\n"},
    {"megatron", "", "cuda_graph_impl = \"local\"\n", "cuda_graphs = true\n"},
    {"megatron", "", "optimizer = \"dist_muon\"\n", "optimizer = \"muon\"\nzero_stage = 1\n"},
    {"hf-trainer", LORA, "quantization_bit = 4\n", "quantization = \"nf4-dq\"\n"},
    {"hf-trainer", LORA, "quantization_bit = 4\ndouble_quantization = false\n", "quantization = \"nf4\"\n"},
    {"hf-trainer", LORA, "quantization_bit = 8\n", "quantization = \"int8\"\n"},
    {"hf-trainer", "lora_r = 16\n", "adapter = \"qlora\"\nload_in_4bit = true\nlora_target_linear = true\n",
     "peft = \"qlora\"\nquantization = \"nf4-dq\"\nlora_targets = \"all-linear\"\n"},
    {"hf-trainer", "lora_r = 16\n",
     "adapter = \"lora\"\nlora_target_linear = true\nlora_target_modules = \"lm_head\"\n",
     "peft = \"lora\"\nlora_targets = \"all-linear lm_head\"\n"},
    {"hf-trainer", "lora_rank = 16\n", "finetuning_type = \"lora\"\nlora_target = \"all\"\n",
     "peft = \"lora\"\nlora_targets = \"all-linear\"\nrecompute = \"full\"\n"},
    {"hf-trainer", "", "finetuning_type = \"lora\"\n",
     "peft = \"lora\"\nlora_rank = 8\nlora_targets = \"all-linear\"\nrecompute = \"full\"\n"},
    {"hf-trainer", "", "finetuning_type = \"lora\"\ndisable_gradient_checkpointing = true\n",
     "peft = \"lora\"\nlora_rank = 8\nlora_targets = \"all-linear\"\n"},
    {"hf-trainer", "family = \"llama\"\n", "enable_liger_kernel = true\n",
     "loss_kernel = \"linear\"\nnorm_kernel = \"fused\"\n"},
    {"hf-trainer", "", "liger_fused_linear_cross_entropy = true\n", "loss_kernel = \"linear\"\n"},
    {"hf-trainer", "family = \"llama\"\n", "liger_rms_norm = true\n", "norm_kernel = \"fused\"\n"},
    {"hf-trainer", "", "optim = \"adamw_bnb_8bit\"\n", "optimizer = \"adam-8bit\"\n"},
    {"hf-trainer", "", "optimizer = \"adamw_torch_4bit\"\n", "moment_bytes = 1\n"},
    {"fsdp", "", "optimizer = \"decoupled_lionw\"\n", "optimizer = \"lion\"\n"},
    {"hf-trainer", "num_local_experts = 8\nmoe_intermediate_size = 4096\nnum_experts_per_tok = 1\n", "top_k = 2\n",
     "topk = 2\n"},
    {"hf-trainer", "", "model_type = \"Qwen2ForCausalLM\"\n", "family = \"llama\"\n"},
    {"hf-trainer", "kv_heads = 4\n", "model_type = \"GPTNeoXForCausalLM\"\n", "family = \"gpt\"\n"},
    {"hf-trainer", "",
     "adapter = \"lora\"\nlora_r = 16\n"
     "lora_target_modules = \"model.language_model.layers.[\\\\d]+.(mlp|self_attn).(up|down|q|v)_proj\"\n",
     "peft = \"lora\"\nlora_rank = 16\nlora_targets = \"up_proj down_proj q_proj v_proj\"\n"},
    {"hf-trainer", "", "adapter = \"lora\"\nlora_r = 16\nlora_target_modules = \"self_attn.q_proj mlp.down_proj\"\n",
     "peft = \"lora\"\nlora_rank = 16\nlora_targets = \"q_proj down_proj\"\n"},
    {"hf-trainer", "", "finetuning_type = \"freeze\"\n", "frozen_layers = 30\nrecompute = \"full\"\n"},
    {"hf-trainer", "", "gradient_checkpointing = \"offload\"\n", "recompute = \"full\"\noffload_layers = 32\n"},
    {"hf-trainer", "", "fsdp = \"full_shard auto_wrap\"\n", "zero_stage = 3\nbackward_prefetch = \"none\"\n"},
    {"hf-trainer", "", "fsdp = \"full_shard\"\nfsdp_config.version = 2\n", "zero_stage = 3\n"},
    {"hf-trainer", "", "fsdp = \"full_shard\"\nfsdp_config.backward_prefetch = \"backward_pre\"\n", "zero_stage = 3\n"},
    {"hf-trainer", "", "fsdp = \"hybrid_shard_zero2\"\n", "zero_stage = 2\nshard_ranks = 8\n"},
    {"hf-trainer", "", "fsdp_config.fsdp_sharding_strategy = \"SHARD_GRAD_OP\"\n", "zero_stage = 2\n"},
    {"hf-trainer", "", "fsdp_version = 2\nfsdp_config.reshard_after_forward = true\n", "zero_stage = 3\n"},
    {"hf-trainer", "", "fsdp_config.fsdp_version = 2\nfsdp_config.fsdp_reshard_after_forward = false\n",
     "zero_stage = 2\n"},
    {"hf-trainer", "zero_stage = 3\n", "fsdp_config.fsdp_offload_params = true\n", "offload_parameters = true\n"},
    {"hf-trainer", "zero_stage = 3\n", "fsdp_config.activation_checkpointing = true\n", "recompute = \"full\"\n"},
    {"hf-trainer", "zero_stage = 3\n", "fsdp_config.limit_all_gathers = false\n", "unlimited_gathers = true\n"},
    {"hf-trainer", "zero_stage = 3\n", "fsdp_config.min_num_params = 100000000\n", "unit_parameters = 100000000\n"},
    {"deepspeed", "zero_stage = 2\n", "overlap_comm = true\n", "overlap_gradients = true\n"},
    {"deepspeed", "zero_stage = 3\nrecompute = \"full\"\noffload = \"parameters\"\n", "zero3_init_flag = false\n",
     "loaded_whole = true\n"},
    {"fsdp2", "", "fsdp_config.sharding_strategy = \"HYBRID_SHARD\"\n", "zero_stage = 3\nshard_ranks = 8\n"},
};

struct predicted {
    double bytes, seconds;
};

/* Profiles that predict as another framework does. */
static const char *framework_of(const char *profile)
{
    static const char *const others[][2] = {{"olmo", "fsdp"},
                                            {"lingua", "fsdp2"},
                                            {"olmo-core", "fsdp2"},
                                            {"levanter", "maxtext"},
                                            {"colossalai", "deepspeed"},
                                            {"litgpt", "hf-trainer"},
                                            {"llm-foundry", "fsdp"},
                                            {"verl", "fsdp"},
                                            {"nemo-rl", "fsdp2"}};
    for (size_t i = 0; i < LENGTH(others); i++)
        if (strcmp(profile, others[i][0]) == 0)
            return others[i][1];
    return profile;
}

static struct predicted predicted_with(const char *profile, const char *batch, const char *keys, const char *more)
{
    OWNED char *text = xasprintf("profile = \"%s\"\n[predict]\nframework = \"%s\"\ndevice = \"H100\"\n" MODEL
                                 "[[cluster_spec]]\nnum_hosts = 2\nnum_devices_per_host = 8\n[[parallel_spec]]\n%s%s%s",
                                 profile, framework_of(profile), batch, keys, more);
    HELD(built) b = build_text(text);
    struct predicted p = {value_of(&b, "predicted_memory"), value_of(&b, "predicted_time")};
    FAIL_WHERE(!(p.bytes > 0 && p.seconds > 0), "nothing is predicted under %s of %s%s", profile, keys, more);
    return p;
}

TEST(names__of_a_framework__as_the_inputs_that_they_mean)
{
    static const char batch[] = "micro_batch = 1\ngradient_accumulation = 8\n";
    const struct saying *of = NULL; /* whose `without` it is: that of most is the one before */
    struct predicted without = {0, 0};
    for (size_t i = 0; i < LENGTH(sayings); i++) {
        const struct saying *s = &sayings[i];
        bool own_heads = strstr(s->ours, "heads_of_keys") != NULL; /* of the key that `always` has */
        struct predicted theirs = predicted_with(s->profile, batch, s->always, s->theirs);
        struct predicted ours =
            predicted_with(s->profile, batch, own_heads ? "kv_heads = 16\n" : s->always, own_heads ? "" : s->ours);
        if (!of || strcmp(of->profile, s->profile) != 0 || strcmp(of->always, s->always) != 0)
            without = predicted_with(s->profile, batch, s->always, "");
        of = s;
        if (theirs.bytes != ours.bytes || theirs.seconds != ours.seconds)
            fail_msg("%s: %g bytes, %g s; %s: %g bytes, %g s", s->theirs, theirs.bytes, theirs.seconds, s->ours,
                     ours.bytes, ours.seconds);
        if (theirs.bytes == without.bytes && theirs.seconds == without.seconds)
            fail_msg("%s %s: changes nothing", s->profile, s->theirs);
    }
}

TEST(names__a_local_batch_in_a_pipeline__is_cut_into_micro_batches)
{
    struct predicted whole =
        predicted_with("torchtitan", "micro_batch = 2\ngradient_accumulation = 4\n", "pp = 4\n", "");
    struct predicted by_size =
        predicted_with("torchtitan", "local_batch_size = 8\npipeline_parallel_microbatch_size = 2\n", "pp = 4\n", "");
    struct predicted by_number =
        predicted_with("torchtitan", "local_batch_size = 8\nnum_pp_microbatches = 4\n", "pp = 4\n", "");
    struct predicted by_tokens =
        predicted_with("torchtitan", "num_tokens_per_microbatch_per_dp_rank = 4096\nnum_pp_microbatches = 4\n",
                       "pp = 4\n", "");
    struct predicted global =
        predicted_with("torchtitan", "local_batch_size = 8\nglobal_batch_size = 32\nnum_pp_microbatches = 4\n",
                       "pp = 4\n", "");
    assert_true(whole.bytes == by_size.bytes && whole.seconds == by_size.seconds);
    assert_true(whole.bytes == by_number.bytes && whole.seconds == by_number.seconds);
    assert_true(whole.bytes == global.bytes && whole.seconds == global.seconds);
    assert_true(whole.bytes == by_tokens.bytes && whole.seconds == by_tokens.seconds);
}

/* The last micro-batch of Composer and OLMo is what is left: ten sequences a rank in fours are three micro-batches, and
 * none is larger than those ten. */
TEST(names__batch_that_micro_batches_do_not_divide__rounded_up)
{
    static const char *const profiles[] = {"llm-foundry", "olmo"};
    for (size_t i = 0; i < 2; i++) {
        struct predicted theirs = predicted_with(profiles[i], "micro_batch = 4\n", "global_batch = 160\n", "");
        struct predicted ours = predicted_with(profiles[i], "micro_batch = 4\n", "gradient_accumulation = 3\n", "");
        assert_true(theirs.bytes == ours.bytes && theirs.seconds == ours.seconds);
        theirs = predicted_with(profiles[i], "micro_batch = 16\n", "global_batch = 160\n", "");
        ours = predicted_with(profiles[i], "micro_batch = 10\n", "", "");
        assert_true(theirs.bytes == ours.bytes && theirs.seconds == ours.seconds);
    }
}

/* Colossal-AI's batch is a rank's, which only a pipeline cuts. */
TEST(names__batch_of_a_rank__is_a_micro_batch_without_a_pipeline)
{
    struct predicted theirs = predicted_with("colossalai", "batch_size = 8\nmbs = 2\n", "pp = 2\nzero = 1\n", "");
    struct predicted ours =
        predicted_with("colossalai", "micro_batch = 2\ngradient_accumulation = 4\n", "pp = 2\nzero = 1\n", "");
    assert_true(theirs.bytes == ours.bytes && theirs.seconds == ours.seconds);
    theirs = predicted_with("colossalai", "batch_size = 8\nmbs = 2\n", "", "");
    ours = predicted_with("colossalai", "micro_batch = 8\n", "", "");
    assert_true(theirs.bytes == ours.bytes && theirs.seconds == ours.seconds);
}

TEST(names__fully_sharded_without_a_stage__is_sharded)
{
    static const char *const frameworks[] = {"fsdp", "fsdp2", "torchtitan"};
    static const char batch[] = "micro_batch = 1\ngradient_accumulation = 8\n";
    for (size_t i = 0; i < LENGTH(frameworks); i++) {
        struct predicted bare = predicted_with(frameworks[i], batch, "", "");
        struct predicted said = predicted_with(frameworks[i], batch, "", "zero_stage = 3\n");
        struct predicted none = predicted_with(frameworks[i], batch, "", "zero_stage = 0\n");
        assert_true(bare.bytes == said.bytes && bare.seconds == said.seconds);
        assert_true(none.bytes > 1.5 * bare.bytes);
    }
}

/* Megatron-LM prints the ranks of latent attention and two experts per token of every model. */
TEST(names__defaults_of_what_a_model_lacks__change_nothing)
{
    static const char batch[] = "micro_batch = 1\ngradient_accumulation = 8\n";
    static const char printed[] = "multi_latent_attention = false\nkv_lora_rank = 32\nqk_head_dim = 128\n"
                                  "qk_pos_emb_head_dim = 64\nv_head_dim = 128\nmoe_router_topk = 2\n";
    struct predicted bare = predicted_with("megatron", batch, "", "");
    struct predicted with = predicted_with("megatron", batch, "", printed);
    struct predicted latent =
        predicted_with("megatron", batch, "", "multi_latent_attention = true\nkv_lora_rank = 32\n");
    assert_true(with.bytes == bare.bytes && with.seconds == bare.seconds);
    assert_true(latent.bytes != bare.bytes && latent.seconds != bare.seconds);
}
