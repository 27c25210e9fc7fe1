/* Profiles: what a framework's own arguments say is what the inputs of predictions say by their names, and is not
 * ignored. */
#include "value_fixture.h"

#define MODEL                                                                                                          \
    "[[model]]\nlayers = 32\nhidden = 2048\nheads = 16\nvocab = 50257\nseq = 2048\nffn = "                             \
    "8192\nmax_position_embeddings = 2048\n"
#define LORA "peft=lora lora_rank=16 lora_targets='q_proj v_proj' "
#define EXPERTS "experts=8 experts_per_token=2 expert_ffn=2048 "

/* The same of a framework in its own words and in those of the inputs; `without` is what it would be if neither were
 * understood. */
static const struct saying {
    const char *profile, *always, *theirs, *ours;
} sayings[] = {
    {"megatron", "", "tp_size=2", "tp=2"},
    {"megatron", "", "pp_size=4", "pp=4"},
    {"megatron", "pp_size=4", "vp_size=2", "vpp=2"},
    {"megatron", "", "cp_size=4", "cp=4"},
    {"megatron", EXPERTS, "ep_size=4", "ep=4"},
    {"megatron", EXPERTS "tp_size=2 ep_size=4", "etp_size=1", "etp=1"},
    {"megatron", "", "use_rotary_position_embeddings=true", "positions=0"},
    {"megatron", "", "normalization=rmsnorm", "rms_norm=true"},
    {"megatron", "", "checkpoint_activations=true", "recompute=full"},
    {"megatron", "", "deepspeed_activation_checkpointing=true", "recompute=full"},
    {"megatron", "", "cpu_optimizer=true", "offload=optimizer"},
    {"megatron", EXPERTS, "expert_interval=2", "dense_layers=16"},
    {"megatron", EXPERTS, "mlp_type=residual", "shared_ffn=8192"},
    {"megatron", EXPERTS, "moe_expert_parallel_size=4", "ep=4"},
    {"megatron", "", "ds_sequence_parallel_size=4", "cp=4"},
    {"megatron", "", "decoder_seq_length=128", "family=t5 decoder_seq=128"},
    {"megatron", "", "use_mcore_fsdp=1", "zero_stage=3"},
    {"megatron", "", "activation_offload_layers=2", "offload_layers=2"},
    {"megatron", "recompute=selective", "recompute_modules=layernorm/mlp", "recompute_modules='layernorm mlp'"},
    {"megatron", "", "untie_embeddings_and_output_weights=true", "tied_embeddings=false"},
    {"megatron", "", "disable_bias_linear=true", "biases=false"},
    {"megatron", "kv_heads=4", "group_query_attention=false", "heads_of_keys=16"},
    {"megatron", "", "num_query_groups=4", "kv_heads=4"},
    {"megatron", "", "position_embedding_type=rope", "positions=0"},
    {"megatron", "", "recompute_activations=true attention_backend=unfused",
     "recompute=selective flash_attention=false"},
    {"megatron", "", "attention_backend=unfused", "flash_attention=false"},
    {"megatron", "", "grad_reduce_in_bf16=true", "gradient_bytes=2"},
    {"megatron", "use_distributed_optimizer=true", "exp_avg_dtype=bf16 exp_avg_sq_dtype=bf16", "moment_bytes=4"},
    {"megatron", "use_distributed_optimizer=true", "use_precision_aware_optimizer=true", "moment_bytes=6"},
    {"megatron", "use_distributed_optimizer=true",
     "use_precision_aware_optimizer=true store_param_remainders=false exp_avg_dtype=bf16", "moment_bytes=6"},
    {"megatron", "use_distributed_optimizer=true",
     "use_precision_aware_optimizer=true main_params_dtype=fp16 fp8_recipe=tensorwise",
     "moment_bytes=6 fp8_recipe=tensorwise"},
    {"megatron", "", "optimizer_cpu_offload=true", "offload=optimizer"},
    {"megatron", "", "data_parallel_sharding_strategy=optim_grads_params", "zero_stage=3"},
    {"megatron", "pp=2", "num_layers_per_virtual_pipeline_stage=4", "vpp=4"},
    {"megatron", "pp=2", "num_virtual_stages_per_pipeline_rank=4", "vpp=4"},
    {"megatron", "", "num_moe_experts=8 experts_per_token=2 expert_ffn=2048", EXPERTS},
    {"megatron", "", "use_torch_fsdp2=true", "zero_stage=3 gradient_bytes=2"},
    {"megatron", "", "use_torch_fsdp2=true torch_fsdp2_reshard_after_forward=false", "zero_stage=2 gradient_bytes=2"},
    {"megatron", "", "model_type=mamba hybrid_attention_ratio=0.25 hybrid_mlp_ratio=0.25",
     "family=hybrid hybrid_pattern=MM*-MM*-MM*-MM*-MM*-MM*-MM*-MM*-"},
    {"megatron", EXPERTS, "moe_shared_expert_intermediate_size=4096", "shared_ffn=4096"},
    {"megatron", EXPERTS, "moe_layer_freq='([0]*3+[1]*29)'", "dense_layers=3"},
    {"megatron", EXPERTS, "moe_layer_freq='[0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]'",
     "dense_layers=3"},
    {"megatron", EXPERTS, "moe_layer_freq='2'", "dense_layers=16"},
    {"megatron", EXPERTS "ep=2", "moe_router_force_load_balancing=true", "balanced_experts=true"},
    {"megatron", "precision=fp8", "first_last_layers_bf16=true num_layers_at_end_in_bf16=3", "bf16_layers=4"},
    {"megatron", EXPERTS, "moe_layer_freq=2", "dense_layers=16"},
    {"megatron", "", "fp8_format=hybrid", "precision=fp8"},
    {"megatron", "", "window_size='(127, 0)' window_attn_skip_freq=4", "sliding_window=128 window_layers=24"},
    {"megatron", "", "experimental_attention_variant=gated_delta_net linear_attention_freq=4 linear_num_value_heads=16",
     "mixer=gated-delta mixer_layers=24 linear_num_value_heads=16"},
    {"megatron", "pp=2", "hybrid_layer_pattern=M-M-M-M*|M-M-M-M*|M-M-M-M*|M-M-M-M*",
     "hybrid_pattern=M-M-M-M*M-M-M-M*M-M-M-M*M-M-M-M* vpp=2"},
    {"torchtitan", "", "activation_checkpoint.mode=full", "recompute=full"},
    {"torchtitan", "", "activation_checkpoint.mode=selective activation_checkpoint.selective_ac_option=op",
     "recompute=selective-op"},
    {"torchtitan", "", "activation_checkpoint.mode=selective activation_checkpoint.selective_ac_option='2'",
     "recompute=full recompute_every=2"},
    {"torchtitan", "", "data_parallel_replicate_degree=4", "shard_ranks=4"},
    {"torchtitan", "", "gpu_type='NVIDIA B200'", "flash_attention=fused device=B200"},
    {"torchtitan", "pp=4", "pipeline_parallel_schedule=Interleaved1F1B", "vpp=2"},
    {"torchtitan", "pp=4", "pipeline_parallel_schedule=Interleaved1F1B pipeline_parallel_layers_per_stage=3", "vpp=3"},
    {"torchtitan", "pp=4", "pipeline_parallel_schedule=InterleavedZeroBubble", "vpp=2"},
    {"torchtitan", "tp=2", "enable_sequence_parallel=false", "sequence_parallel=false"},
    {"torchtitan", "", "activation_checkpoint=SelectiveAC", "recompute=selective-op"},
    {"torchtitan", "", "compile.enable=true", "compiled=true loss_kernel=fused"},
    {"torchtitan", "activation_checkpoint.mode=full", "training.compile=true", "compiled=true loss_kernel=fused"},
    {"torchtitan", "activation_checkpoint.mode=full", "compile=true", "compiled=true loss_kernel=fused"},
    {"torchtitan", "", "activation_checkpoint.mode=none compile.enable=true compile.components=['model']",
     "compiled=true compile.components=['model']"},
    {"torchtitan", "pp=4", "training.global_batch_size=-1 pipeline_parallel_schedule=GPipe", "schedule=gpipe"},
    {"torchtitan", "", "model.converters=['quantize.linear.float8']", "precision=fp8 cast_kernel=eager"},
    {"torchtitan", "", "training.dtype=bfloat16", "weights_dtype=bf16"},
    {"torchtitan", "", "dtype=float32 mixed_precision_param=float32", "precision=fp32"},
    {"torchtitan", "training.dtype=bfloat16", "mixed_precision_param=float32", "precision=fp32"},
    {"torchtitan", "training.compile=true", "release='2024-12'", "compile.components=['model']"},
    {"torchtitan", "", "loss=ChunkedLossWrapper", "chunked_loss=1"},
    {"torchtitan", "", "release='2026-06-01'", "chunked_loss=1"},
    {"torchtitan", "", "parallelism.fsdp_reshard_after_forward=never", "zero_stage=2"},
    {"torchtitan", "", "training.enable_cpu_offload=true", "offload=parameters"},
    {"nanotron", "", "parallelism.tp=2", "tp=2"},
    {"nanotron", "tp=2", "parallelism.tp_mode=REDUCE_SCATTER", "sequence_parallel=true"},
    {"nanotron", "pp=4", "parallelism.pp_engine=afab", "schedule=gpipe"},
    {"nanotron", "", "recompute_layer=true", "recompute=full"},
    {"nanotron", "", "optimizer.zero_stage=1", "zero_stage=1"},
    {"deepspeed", "", "sequence_parallel_size=4", "cp=4 dp=4"},
    {"megatron", "", "mixed_precision=bf16_with_fp8_current_scaling_mixed", "precision=fp8"},
    {"hf-trainer", "", "mixed_precision=no", "precision=fp32"},
    {"torch-ddp", "pp=4", "pp_style=zbv grad_checkpoint=true", "schedule=zb-v recompute=full"},
    {"torch-ddp", "", "sp=4", "cp=4"},
    {"hf-trainer", "", "deepspeed=deepspeed_configs/zero2.json", "zero_stage=2"},
    {"hf-trainer", "", "deepspeed=examples/deepspeed/ds_z3_offload_config.json", "zero_stage=3 offload=parameters"},
    {"hf-trainer", "", "peft_config.name=lora peft_config.r=16 peft_config.target_modules=all",
     "peft=lora lora_rank=16 lora_targets=all"},
    {"hf-trainer", "finetuning_type=full", "recompute=none", "gradient_checkpointing=false"},
    {"hf-trainer", "recompute=full", "finetuning_type=full", "weights_dtype=fp32"},
    {"hf-trainer", "bf16=true", "torch_dtype=float32", "weights_dtype=fp32"},
    {"hf-trainer", "recompute=full", "optim=adamw_torch", "optimizer_kernel=foreach"},
    {"hf-trainer", "", "fp32=true tf32=true", "precision=tf32"},
    {"hf-trainer", "compiled=true", "torch_compile=true", "loss_kernel=compiled"},
    {"hf-trainer", "compiled=true", "torch_compile=true liger_fused_linear_cross_entropy=true", "loss_kernel=linear"},
    {"hf-trainer", "compiled=true", "torch_compile=true deepspeed=ds_z2_config.json", "zero_stage=2"},
    {"olmo", "", "model.mlp_hidden_size=4096", "gated_mlp=true mlp_hidden_size=4096"},
    {"olmo", "", "activation_type=gelu mlp_hidden_size=8192", "mlp_hidden_size=8192 model.activation_type=gelu"},
    {"olmo", "", "model.multi_query_attention=true", "n_kv_heads=1"},
    {"olmo", "", "model.embedding_size=100352", "embedding_size=100352"},
    {"olmo", "", "weight_tying=false", "model.weight_tying=false"},
    {"olmo", "", "activation_checkpointing=one_in_four", "recompute=full recompute_every=4"},
    {"olmo", "", "distributed_strategy=ddp", "zero_stage=0"},
    {"olmo", "", "fsdp.sharding_strategy=HYBRID_SHARD", "zero_stage=3 shard_ranks=8"},
    {"olmo", "", "fsdp.sharding_strategy=HYBRID_SHARD fsdp.hybrid_sharding_num_model_replicas=4",
     "zero_stage=3 shard_ranks=4"},
    {"olmo", "", "fsdp.precision=mixed", "gradient_bytes=4"},
    {"olmo", "", "fused_loss=true", "loss_kernel=fused"},
    {"olmo", "", "optimizer.name=lionw", "optimizer=lion"},
    {"lingua", "fsdp_type=full_shard", "model.multiple_of=1024 model.ffn_dim_multiplier=1.5",
     "multiple_of=1024 ffn_dim_multiplier=1.5"},
    {"lingua", "kv_heads=4 fsdp_type=full_shard", "distributed.tp_size=2", "tp=2 sequence_parallel=true"},
    {"lingua", "", "distributed.fsdp_type=full_shard", "fsdp_type=full_shard zero_stage=3"},
    {"lingua", "fsdp_type=full_shard", "distributed.dp_shard=8", "shard_ranks=8"},
    {"lingua", "", "distributed.compile=true", "compile=true compiled=true loss_kernel=fused"},
    {"lingua", "", "distributed.selective_activation_checkpointing=true", "selective_activation_checkpointing=true"},
    {"lingua", "", "distributed.float8_recipe=rowwise", "precision=fp8 cast_kernel=eager"},
    {"lingua", "", "model.weight_tying=true", "weight_tying=true"},
    {"olmo-core", "", "train_module.dp_config.name=hsdp", "zero_stage=3 shard_ranks=8"},
    {"olmo-core", "", "train_module.dp_config.name=hsdp train_module.dp_config.num_replicas=4",
     "zero_stage=3 shard_ranks=4"},
    {"olmo-core", "", "train_module.ac_config.mode=selected_blocks train_module.ac_config.block_interval=2",
     "recompute=full recompute_every=2"},
    {"olmo-core", "",
     "train_module.ac_config.mode=selected_modules train_module.ac_config.modules=blocks.*.feed_forward",
     "recompute=selective recompute_modules=mlp"},
    {"olmo-core", "",
     "train_module.compile_model=true train_module.ac_config.mode=budget "
     "train_module.ac_config.activation_memory_budget=0.25",
     "compiled=true recompute=full recompute_layers=24 recompute_method=block"},
    {"olmo-core", "", "train_module.dp_config.reduce_dtype=bfloat16", "gradient_bytes=2"},
    {"olmo-core", "", "train_module.float8_config.enabled=true", "precision=fp8 cast_kernel=eager"},
    {"llm-foundry", "", "fsdp_config.sharding_strategy=HYBRID_SHARD", "zero_stage=3 shard_ranks=8"},
    {"llm-foundry", "", "fsdp_config.activation_checkpointing=true", "recompute=full"},
    {"llm-foundry", "", "model.loss_fn=torch_crossentropy", "loss_kernel=eager"},
    {"llm-foundry", "", "model.no_bias=true", "biases=false"},
    {"llm-foundry", "", "model.attn_config.alibi=true", "positions=0"},
    {"llm-foundry", "", "model.attn_config.attn_type=multiquery_attention", "kv_heads=1"},
    {"llm-foundry", "", "model.attn_config.attn_impl=torch", "flash_attention=false"},
    {"llm-foundry", "", "model.ffn_config.ffn_hidden_size=6144", "ffn_hidden_size=6144"},
    {"llm-foundry", "", "precision=amp_fp8", "precision=fp8"},
    {"hf-trainer", "", "attn_impl=eager", "flash_attention=false"},
    {"hf-trainer", "zero_stage=3", "sequence_parallel_size=4", "cp=4"},
    {"hf-trainer", "", "tuner_type=lora", "peft=lora lora_rank=8 lora_targets=all-linear"},
    {"hf-trainer", LORA, "train_type=lora quant_method=bnb quant_bits=4", "quantization=nf4-dq"},
    {"levanter", "", "trainer.model_axis_size=2", "tp=2"},
    {"levanter", "", "model.gradient_checkpointing=false", "recompute=none"},
    {"levanter", "", "trainer.replica_dcn_axis_size=4", "shard_ranks=4"},
    {"levanter", "", "model.attn_backend=vanilla", "flash_attention=false"},
    {"levanter", "", "trainer.mp=f32", "precision=fp32"},
    {"colossalai", "", "plugin=gemini", "zero_stage=3"},
    {"colossalai", "", "tp_size=2 zero=1", "tp=2 zero_stage=1"},
    {"colossalai", "", "grad_checkpoint=true xformers=true", "recompute=full flash_attention=true"},
    {"colossalai", "", "sp=2", "cp=2"},
    {"torchtitan", "", "activation_checkpoint.mode=memory_budget activation_checkpoint.memory_budget=0.25",
     "recompute=full recompute_layers=24 recompute_method=block"},
    {"litgpt", "recompute=full", "lora_r=16 lora_mlp=true",
     "lora_r=16 lora_targets='q_proj v_proj gate_proj up_proj down_proj' lora_mlp=true"},
    {"litgpt", "", "model_config.mlp_class_name=GptNeoxMLP", "family=gpt gated_mlp=false"},
    {"litgpt", "", "precision=bf16-mixed", "weights_dtype=fp32 bf16=true"},
    {"litgpt", "", "model_config.n_query_groups=4", "n_query_groups=4"},
    {"litgpt", "", "train.tie_embeddings=true", "tie_embeddings=true"},
    {"litgpt", "", "checkpoint_dir=checkpoints/x", "checkpoint_dir=y recompute=full"},
    {"verl", "", "actor_rollout_ref.actor.strategy=megatron", "framework=megatron strategy=megatron"},
    {"verl", "", "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2", "strategy=megatron tp=2"},
    {"verl", "", "actor_rollout_ref.actor.megatron.context_parallel_size=4",
     "strategy=megatron context_parallel_size=4"},
    {"verl", "", "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2", "ulysses=2"},
    {"verl", "", "actor_rollout_ref.actor.fsdp_config.fsdp_size=8", "shard_ranks=8"},
    {"verl", "", "actor_rollout_ref.actor.fsdp_config.reshard_after_forward=false",
     "fsdp_size=16 actor_rollout_ref.actor.fsdp_config.reshard_after_forward=false"},
    {"verl", "", "actor_rollout_ref.model.enable_gradient_checkpointing=false", "checkpointing=false"},
    {"verl", "strategy=megatron",
     "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full", "granularity=full"},
    {"verl", "", "data.max_prompt_length=512 data.max_response_length=1024", "prompt_length=512 response_length=1024"},
    {"verl", "", "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.rollout.n=8", "mini_batch=512"},
    {"verl", "", "actor_rollout_ref.model.use_fused_kernels=true",
     "actor_rollout_ref.model.use_fused_kernels=true actor_rollout_ref.actor.entropy_coeff=0"},
    {"nemo-rl", "", "policy.megatron_cfg.enabled=true", "framework=megatron uses_megatron=true"},
    {"nemo-rl", "uses_megatron=true",
     "policy.megatron_cfg.tensor_model_parallel_size=2 policy.megatron_cfg.sequence_parallel=true",
     "tp=2 sequence_parallel=true policy.megatron_cfg.sequence_parallel=true"},
    {"nemo-rl", "uses_megatron=true", "policy.megatron_cfg.pipeline_model_parallel_size=4", "pp=4"},
    {"nemo-rl", "uses_megatron=true", "policy.megatron_cfg.activation_checkpointing=true",
     "policy.megatron_cfg.activation_checkpointing=1"},
    {"nemo-rl", "", "policy.dtensor_cfg.context_parallel_size=4", "cp=4"},
    {"nemo-rl", "", "policy.dtensor_cfg.dp_replicate_size=4", "shard_ranks=4"},
    {"nemo-rl", "", "policy.dtensor_cfg.cpu_offload=true", "policy.dtensor_cfg.cpu_offload=1"},
    {"nemo-rl", "", "policy.dtensor_cfg.lora_cfg.enabled=true policy.dtensor_cfg.lora_cfg.dim=16",
     "peft=lora lora_rank=16 lora_targets=all-linear"},
    {"picotron", "", "distributed.tp_size=2", "tp=2"},
    {"picotron", "", "distributed.cp_size=2", "cp=2"},
    {"picotron", "distributed.pp_size=4", "distributed.pp_engine=afab", "schedule=gpipe"},
    {"picotron", "", "model.use_flash_attention=false", "flash_attention=false"},
    {"picotron", "", "use_flash_attention=true", "flash_attention=true norm_kernel=fused"},
    {"picotron", "cp_size=8", "model.use_fused_adam=true", "use_fused_adam=true"},
    {"torchtune", "", "tensor_parallel_dim=2", "tp=2"},
    {"torchtune", "", "context_parallel_dim=2", "cp=2"},
    {"torchtune", "", "data_parallel_replicate_dim=4", "shard_ranks=4"},
    {"torchtune", "", "enable_activation_checkpointing=true", "recompute=full"},
    {"torchtune", "", "ac_mode=selective ac_option=2", "recompute=full recompute_every=2"},
    {"torchtune", "", "enable_activation_checkpointing=true enable_activation_offloading=true",
     "recompute=full offload_layers=32"},
    {"torchtune", "", "fsdp_cpu_offload=true", "offload=parameters"},
    {"torchtune", "recompute=full", "custom_sharded_layers=['tok_embeddings', 'output']", "vocab_units=true"},
    {"torchtune", "", "compile=true", "compiled=true"},
    {"torchtune", "", "loss._component_=torch.nn.CrossEntropyLoss", "chunked_loss=false"},
    {"torchtune", "recompute=full", "optimizer._component_=bitsandbytes.optim.PagedAdamW8bit",
     "optimizer=adam-8bit optimizer_kernel=fused"},
    {"torchtune", "recompute=full zero_stage=0", "optimizer._component_=torch.optim.AdamW optimizer.fused=true",
     "optimizer_kernel=fused"},
    {"torchtune", "",
     "model._component_=torchtune.models.llama3.qlora_llama3_8b model.lora_rank=16 model.lora_attn_modules='q_proj, "
     "v_proj, output_proj' model.apply_lora_to_mlp=true",
     "peft=qlora quantization=nf4-dq lora_rank=16 lora_targets='q_proj v_proj o_proj gate_proj up_proj down_proj'"},
    {"torchtune", "",
     "model._component_=torchtune.models.llama3.lora_llama3_8b model.use_dora=true model.lora_attn_modules=q_proj "
     "model.apply_lora_to_output=true",
     "peft=dora lora_rank=8 lora_targets='q_proj lm_head'"},
    {"torch-ddp", "pp=4", "num_model_chunks=2", "vpp=2"},
    {"hf-trainer", "zero_stage=3", "parallelism_config_cp_size=2", "cp=2"},
    {"gpt-neox", "", "model_parallel_size=2", "tp=2"},
    {"gpt-neox", "", "pipe_parallel_size=4", "pp=4"},
    {"gpt-neox", "pipe_parallel_size=0", "no_weight_tying=true", "tied_embeddings=false"},
    {"gpt-neox", "", "checkpoint_activations=true", "recompute=full"},
    {"gpt-neox", "", "attention_config=\"[[['flash'], 32]]\"", "flash_attention=true"},
    {"gpt-neox", "", "pos_emb=rotary norm=rmsnorm gpt_j_residual=true",
     "positions=0 rms_norm=true parallel_blocks=true"},
    {"gpt-neox", "", "activation=swiglu mlp_multiple_of=256 intermediate_size=24576", "gated_mlp=true"},
    {"maxtext", "ici_fsdp_parallelism=-1", "ici_tensor_parallelism=2", "tp=2"},
    {"maxtext", "", "ici_data_parallelism=4", "shard_ranks=4"},
    {"maxtext", "", "ici_fsdp_parallelism=1 ici_data_parallelism=16", "zero_stage=0"},
    {"maxtext", "", "dcn_data_parallelism=2 num_slices=2", "shard_ranks=8"},
    {"maxtext", "", "ici_context_parallelism=4", "cp=4"},
    {"maxtext", "num_experts=8 experts_per_token=2 expert_ffn=2048", "ici_expert_parallelism=4", "ep=4"},
    {"maxtext", "", "remat_policy=minimal", "recompute=selective recompute_modules='core_attn layernorm moe_act'"},
    {"maxtext", "", "remat_policy=save_dot_except_mlp",
     "recompute=selective recompute_modules='core_attn layernorm mlp moe'"},
    {"maxtext", "", "remat_policy=custom decoder_layer_input=offload", "offload_layers=32"},
    {"maxtext", "", "attention=dot_product", "flash_attention=false"},
    {"maxtext", "attention=cudnn_flash_te", "quantization=fp8_full", "precision=fp8"},
    {"maxtext", "", "weight_dtype=bfloat16", "weights_dtype=bf16"},
    {"maxtext", "", "mu_dtype=bfloat16", "moment_bytes=6"},
    {"maxtext", "", "grad_dtype=bfloat16", "gradient_bytes=2"},
    {"maxtext", "", "optimizer_memory_host_offload=true", "offload=optimizer"},
    {"maxtext", "", "ici_tensor_parallelism=4", "tp=4 sequence_parallel=true"},
    {"maxtext", "", "num_vocab_tiling=8", "loss_kernel=linear"},
    {"maxtext", "", "opt_type=sgd", "optimizer=sgd"},
    {"internevo", "", "parallel.tensor.size=2", "tp=2"},
    {"internevo", "", "parallel.tensor.size=2 parallel.tensor.mode=msp", "tp=2 sequence_parallel=true"},
    {"internevo", "", "parallel.tensor.size=2 parallel.tensor.mode=isp parallel.weight.size=4",
     "cp=2 zero_stage=3 shard_ranks=4"},
    {"internevo", "", "parallel.pipeline.size=4", "pp=4"},
    {"internevo", "", "parallel.zero1.size=4", "zero_stage=1 shard_ranks=4"},
    {"internevo", "", "parallel.zero1=1", "zero_stage=0"},
    {"internevo", "", "model.checkpoint=true", "recompute=full"},
    {"internevo", "", "model.checkpoint=0.5", "recompute=full recompute_method=block recompute_layers=16"},
    {"internevo", "", "model.dtype=torch.float32", "precision=fp32"},
    {"fsdp", "", "sharding_strategy=SHARD_GRAD_OP", "zero_stage=2"},
    {"fsdp2", "", "sharding_strategy=NO_SHARD", "zero_stage=0"},
    {"hf-trainer", "", "attn_implementation=eager", "flash_attention=false"},
    {"hf-trainer", LORA, "load_in_4bit=true bnb_4bit_quant_type=nf4", "quantization=nf4"},
    {"hf-trainer", LORA, "load_in_4bit=true bnb_4bit_use_double_quant=true", "quantization=nf4-dq"},
    {"hf-trainer", LORA, "load_in_8bit=true", "quantization=int8"},
    {"hf-trainer", LORA, "quantization=awq kbit_preparation=true", "quantization=gptq"},
    {"hf-trainer", LORA, "quantization=hqq kbit_preparation=true", "quantization=hqq"},
    {"hf-trainer", LORA, "quantization_bit=8 quantization_method=eetq", "quantization=eetq"},
    {"hf-trainer", LORA, "quant_method=aqlm kbit_preparation=true", "quantization=aqlm"},
    {"hf-trainer", LORA, "quant_method=fp8", "quantization=fp8"},
    {"hf-trainer", LORA, "additional_target=embed_tokens,lm_head", "modules_to_save='lm_head embed_tokens'"},
    {"megatron", "", "cuda_graph_impl=local", "cuda_graphs=true"},
    {"megatron", "", "optimizer=dist_muon", "optimizer=muon zero_stage=1"},
    {"hf-trainer", LORA, "quantization_bit=4", "quantization=nf4-dq"},
    {"hf-trainer", LORA, "quantization_bit=4 double_quantization=false", "quantization=nf4"},
    {"hf-trainer", LORA, "quantization_bit=8", "quantization=int8"},
    {"hf-trainer", "lora_r=16", "adapter=qlora load_in_4bit=true lora_target_linear=true",
     "peft=qlora quantization=nf4-dq lora_targets=all-linear"},
    {"hf-trainer", "lora_r=16", "adapter=lora lora_target_linear=true lora_target_modules=lm_head",
     "peft=lora lora_targets='all-linear lm_head'"},
    {"hf-trainer", "lora_rank=16", "finetuning_type=lora lora_target=all",
     "peft=lora lora_targets=all-linear recompute=full"},
    {"hf-trainer", "", "finetuning_type=lora", "peft=lora lora_rank=8 lora_targets=all-linear recompute=full"},
    {"hf-trainer", "", "finetuning_type=lora disable_gradient_checkpointing=true",
     "peft=lora lora_rank=8 lora_targets=all-linear"},
    {"hf-trainer", "family=llama", "enable_liger_kernel=true", "loss_kernel=linear norm_kernel=fused"},
    {"hf-trainer", "", "liger_fused_linear_cross_entropy=true", "loss_kernel=linear"},
    {"hf-trainer", "family=llama", "liger_rms_norm=true", "norm_kernel=fused"},
    {"hf-trainer", "", "optim=adamw_bnb_8bit", "optimizer=adam-8bit"},
    {"hf-trainer", "", "optimizer=adamw_torch_4bit", "moment_bytes=1"},
    {"fsdp", "", "optimizer=decoupled_lionw", "optimizer=lion"},
    {"hf-trainer", "num_local_experts=8 moe_intermediate_size=4096 num_experts_per_tok=1", "top_k=2", "topk=2"},
    {"hf-trainer", "", "model_type=Qwen2ForCausalLM", "family=llama"},
    {"hf-trainer", "kv_heads=4", "model_type=GPTNeoXForCausalLM", "family=gpt"},
    {"hf-trainer", "",
     "adapter=lora lora_r=16 "
     "lora_target_modules='model.language_model.layers.[\\d]+.(mlp|self_attn).(up|down|q|v)_proj'",
     "peft=lora lora_rank=16 lora_targets='up_proj down_proj q_proj v_proj'"},
    {"hf-trainer", "", "adapter=lora lora_r=16 lora_target_modules='self_attn.q_proj mlp.down_proj'",
     "peft=lora lora_rank=16 lora_targets='q_proj down_proj'"},
    {"hf-trainer", "", "finetuning_type=freeze", "frozen_layers=30 recompute=full"},
    {"hf-trainer", "", "gradient_checkpointing=offload", "recompute=full offload_layers=32"},
    {"hf-trainer", "", "fsdp='full_shard auto_wrap'", "zero_stage=3 backward_prefetch=none"},
    {"hf-trainer", "", "fsdp=full_shard fsdp_config.version=2", "zero_stage=3"},
    {"hf-trainer", "", "fsdp=full_shard fsdp_config.backward_prefetch=backward_pre", "zero_stage=3"},
    {"hf-trainer", "", "fsdp=hybrid_shard_zero2", "zero_stage=2 shard_ranks=8"},
    {"hf-trainer", "", "fsdp_config.fsdp_sharding_strategy=SHARD_GRAD_OP", "zero_stage=2"},
    {"hf-trainer", "", "fsdp_version=2 fsdp_config.reshard_after_forward=true", "zero_stage=3"},
    {"hf-trainer", "", "fsdp_config.fsdp_version=2 fsdp_config.fsdp_reshard_after_forward=false", "zero_stage=2"},
    {"hf-trainer", "zero_stage=3", "fsdp_config.fsdp_offload_params=true", "offload_parameters=true"},
    {"hf-trainer", "zero_stage=3", "fsdp_config.activation_checkpointing=true", "recompute=full"},
    {"hf-trainer", "zero_stage=3", "fsdp_config.limit_all_gathers=false", "unlimited_gathers=true"},
    {"hf-trainer", "zero_stage=3", "fsdp_config.min_num_params=100000000", "unit_parameters=100000000"},
    {"deepspeed", "zero_stage=2", "overlap_comm=true", "overlap_gradients=true"},
    {"deepspeed", "zero_stage=3 recompute=full offload=parameters", "zero3_init_flag=false", "loaded_whole=true"},
    {"fsdp2", "", "fsdp_config.sharding_strategy=HYBRID_SHARD", "zero_stage=3 shard_ranks=8"},
};

struct predicted {
    double bytes, seconds;
};

static const char batch[] = "micro_batch=1 gradient_accumulation=8";

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

static struct predicted predicted_with(const char *profile, const char *first, const char *keys, const char *more)
{
    OWNED char *pairs = xasprintf("%s %s %s", first, keys, more), *lines = toml_of(pairs);
    OWNED char *text = xasprintf("profile = \"%s\"\n[predict]\nframework = \"%s\"\ndevice = \"H100\"\n" MODEL
                                 "[[cluster_spec]]\nnum_hosts = 2\nnum_devices_per_host = 8\n[[parallel_spec]]\n%s",
                                 profile, framework_of(profile), lines);
    HELD(built) b = build_text(text);
    struct predicted p = {value_of(&b, "predicted_memory"), value_of(&b, "predicted_time")};
    FAIL_WHERE(!(p.bytes > 0 && p.seconds > 0), "nothing is predicted under %s of %s", profile, pairs);
    return p;
}

TEST(names__of_a_framework__as_the_inputs_that_they_mean)
{
    const struct saying *of = NULL; /* whose `without` it is: that of most is the one before */
    struct predicted without = {0, 0};
    for (size_t i = round_first(); i < LENGTH(sayings); i += round_step()) {
        const struct saying *s = &sayings[i];
        bool own_heads = strstr(s->ours, "heads_of_keys") != NULL; /* of the key that `always` has */
        struct predicted theirs = predicted_with(s->profile, batch, s->always, s->theirs);
        struct predicted ours =
            predicted_with(s->profile, batch, own_heads ? "kv_heads=16" : s->always, own_heads ? "" : s->ours);
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

/* The last micro-batch of Composer and OLMo is what is left: ten sequences a rank in fours are three micro-batches, and
 * none is larger than those ten. Colossal-AI's batch is a rank's, which only a pipeline cuts. */
#define IN_FOUR "pp=4 micro_batch=2 gradient_accumulation=4"

TEST_ROWS(names__batches__cut_into_micro_batches, (const char *profile, *theirs, *ours),
          {"torchtitan", "pp=4 local_batch_size=8 pipeline_parallel_microbatch_size=2", IN_FOUR},
          {"torchtitan", "pp=4 local_batch_size=8 num_pp_microbatches=4", IN_FOUR},
          {"torchtitan", "pp=4 num_tokens_per_microbatch_per_dp_rank=4096 num_pp_microbatches=4", IN_FOUR},
          {"torchtitan", "pp=4 local_batch_size=8 global_batch_size=32 num_pp_microbatches=4", IN_FOUR},
          {"llm-foundry", "micro_batch=4 global_batch=160", "micro_batch=4 gradient_accumulation=3"},
          {"llm-foundry", "micro_batch=16 global_batch=160", "micro_batch=10"},
          {"olmo", "micro_batch=4 global_batch=160", "micro_batch=4 gradient_accumulation=3"},
          {"olmo", "micro_batch=16 global_batch=160", "micro_batch=10"},
          {"colossalai", "pp=2 zero=1 batch_size=8 mbs=2", "pp=2 zero=1 micro_batch=2 gradient_accumulation=4"},
          {"colossalai", "batch_size=8 mbs=2", "micro_batch=8"})
{
    struct predicted theirs = predicted_with(row->profile, "", row->theirs, "");
    struct predicted ours = predicted_with(row->profile, "", row->ours, "");
    FAIL_WHERE(theirs.bytes != ours.bytes || theirs.seconds != ours.seconds, "%s: %s", row->profile, row->theirs);
}

TEST_ROWS(names__fully_sharded_without_a_stage__is_sharded, (const char *text), {"fsdp"}, {"fsdp2"}, {"torchtitan"})
{
    struct predicted bare = predicted_with(row->text, batch, "", "");
    struct predicted said = predicted_with(row->text, batch, "", "zero_stage=3");
    struct predicted none = predicted_with(row->text, batch, "", "zero_stage=0");
    assert_true(bare.bytes == said.bytes && bare.seconds == said.seconds);
    assert_true(none.bytes > 1.5 * bare.bytes);
}

/* Megatron-LM prints the ranks of latent attention and two experts per token of every model. */
TEST(names__defaults_of_what_a_model_lacks__change_nothing)
{
    static const char printed[] = "multi_latent_attention=false kv_lora_rank=32 qk_head_dim=128 qk_pos_emb_head_dim=64 "
                                  "v_head_dim=128 moe_router_topk=2";
    struct predicted bare = predicted_with("megatron", batch, "", "");
    struct predicted with = predicted_with("megatron", batch, "", printed);
    struct predicted latent = predicted_with("megatron", batch, "", "multi_latent_attention=true kv_lora_rank=32");
    assert_true(with.bytes == bare.bytes && with.seconds == bare.seconds);
    assert_true(latent.bytes != bare.bytes && latent.seconds != bare.seconds);
}
