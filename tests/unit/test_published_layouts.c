/* Layouts that were published with what they ran, which every rule must accept, and layouts like them that the
 * framework refuses, each with the rule that must say so. */
#include "space_fixture.h"

struct layout {
    const char *profile; /* NULL: none */
    int hosts, devices_per_host;
    const char *keys;
};

#define DEEPSEEK "layers=61 hidden=7168 heads=128 qk_head_dim=128 experts=256 mtp_layers=1 seq=4096 "
#define QWEN_235B "layers=94 hidden=4096 heads=64 kv_heads=4 head_dim=128 experts=128 seq=4096 "
#define LLAMA_405B "layers=126 hidden=16384 heads=128 kv_heads=8 seq=8192 "
#define OLMO_32B "model.n_layers=64 model.d_model=5120 n_heads=40 n_kv_heads=8 "
#define HSDP "train_module.dp_config.name=hsdp train_module.dp_config.param_dtype=bfloat16 "
#define MPT                                                                                                            \
    "model.vocab_size=50368 max_seq_len=2048 precision=amp_bf16 model.attn_config.attn_impl=flash "                    \
    "fsdp_config.sharding_strategy=FULL_SHARD device_train_microbatch_size=8 "
#define LAYOUT_61 "Et*3|(tt|)*29m|L"
#define BOTH_ENDS "account_embedding=true account_loss=true "

static const struct layout ran[] = {
    /* Megatron-Bridge, docs/performance-summary.md */
    {"megatron", 128, 8, DEEPSEEK "tp=2 pp=8 vpp=4 ep=64 etp=1 sequence_parallel=true"},
    {"megatron", 64, 4, DEEPSEEK "tp=1 pp=4 vpp=4 ep=64 global_batch=2048 micro_batch=1"},
    {NULL, 64, 4, DEEPSEEK "tp=1 pp=16 ep=8 dp=16"},
    {"megatron", 64, 4, DEEPSEEK "tp=1 pp=16 vpp=2 ep=8 pipeline_layout='" LAYOUT_61 "'"},
    {"megatron", 128, 8, LLAMA_405B "tp=8 pp=8 vpp=8 cp=2 " BOTH_ENDS},
    {NULL, 128, 8, LLAMA_405B "tp=8 pp=16 dp=8"},
    {"megatron", 32, 8, QWEN_235B "tp=2 pp=8 vpp=4 ep=32 etp=1 sequence_parallel=true " BOTH_ENDS},
    {"megatron", 8, 8, "layers=62 pp=8 first_stage_layers=7 last_stage_layers=7"},
    {"megatron", 1, 8, "layers=6 pp=4 vpp=2 " BOTH_ENDS},
    {"megatron", 1, 8, "layers=13 pp=2 vpp=4 pipeline_layout=Et|(tt|)*6mL"},
    {"megatron", 1, 8, "layers=14 pp=4 vpp=2 mtp_layers=1 pipeline_layout=Et*2|(tt|)*5t|tmL"},
    /* Megatron-Bridge glm/h100/glm45.py, stepfun/h100/step35.py and nemotronh/h100/nemotron_3_ultra.py: sequence
     * parallelism without tensor parallelism is turned off */
    {"megatron", 4, 8, "layers=46 mtp_layers=1 tp=1 pp=4 ep=8 num_moe_experts=128 sequence_parallel=true"},
    {"megatron", 64, 8, "pp=8 cp=8 ep=8 num_moe_experts=288 sequence_parallel=true"},
    {"megatron", 3, 8, "pp=3 ep=8 num_moe_experts=512 sequence_parallel=true"},
    /* Megatron-Bridge recipes/qwen_vl: without an expert-tensor degree it is 1 */
    {"megatron", 1, 8, "tp=4 pp=2 ep=4 num_moe_experts=256 sequence_parallel=true"},
    {"megatron", 32, 8, "tp=4 pp=16 cp=2 ep=8 num_moe_experts=128 sequence_parallel=true"},
    /* Megatron-LM's functional tests, five micro-batches in a group */
    {"megatron", 1, 8, "pp=4 vpp=3 micro_batches=5"},
    {"megatron", 1, 8, "pp=4 vpp=3 micro_batches=10 microbatch_group=5"},
    /* OLMo-core, src/scripts/official/OLMo3: 32B on 1,024 H100 and its long contexts, 7B's on 256; src/scripts/train,
     * OLMoE-1B-7B.py and OLMoE2-large.py */
    {"olmo-core", 128, 8,
     OLMO_32B "train_module.rank_microbatch_size=8192 data_loader.global_batch_size=8388608 " HSDP
              "train_module.dp_config.shard_degree=64 train_module.ac_config.mode=budget "
              "train_module.ac_config.activation_memory_budget=0.5 train_module.max_sequence_length=8192"},
    {"olmo-core", 128, 8,
     OLMO_32B
     "train_module.rank_microbatch_size=65536 data_loader.global_batch_size=8388608 " HSDP
     "train_module.dp_config.shard_degree=8 train_module.cp_config.degree=8 train_module.max_sequence_length=65536"},
    {"olmo-core", 32, 8,
     "model.n_layers=32 model.d_model=4096 train_module.rank_microbatch_size=65536 "
     "data_loader.global_batch_size=4194304 " HSDP
     "train_module.dp_config.shard_degree=1 train_module.cp_config.degree=8 train_module.max_sequence_length=65536"},
    {"olmo-core", 16, 8,
     "train_module.rank_microbatch_size=8192 data_loader.global_batch_size=4194304 sequence_length=4096 "
     "train_module.dp_config.name=fsdp experts=64"},
    {"olmo-core", 8, 8,
     HSDP "train_module.dp_config.num_replicas=1 train_module.ep_config.degree=-1 experts=64 heads=32"},
    /* axolotl, examples/distributed-parallel */
    {"hf-trainer", 1, 8, "dp_shard_size=2 context_parallel_size=2 tensor_parallel_size=2 fsdp_version=2"},
    {"hf-trainer", 2, 8, "dp_replicate_size=2 dp_shard_size=4 tensor_parallel_size=2 fsdp_version=2"},

    /* LLM Foundry, scripts/train/yamls/pretrain/mpt-7b.yaml and mpt-70b.yaml, on devices of its benchmarks */
    {"llm-foundry", 1, 8, "model.d_model=4096 model.n_heads=32 model.n_layers=32 " MPT "global_train_batch_size=1024"},
    {"llm-foundry", 64, 8, "model.d_model=8192 model.n_heads=64 model.n_layers=80 " MPT "global_train_batch_size=4096"},
    /* scripts/train/benchmarking/README.md: the last micro-batch may be smaller, and none is larger than the batch */
    {"llm-foundry", 1, 8, "global_train_batch_size=48 device_train_microbatch_size=[4, 11]"},
    /* Levanter, config/llama2_7b.yaml, gpt2_20b.yaml and llama_7b_tulu.yaml */
    {"levanter", 32, 4, "trainer.per_device_parallelism=2 trainer.train_batch_size=1024 trainer.model_axis_size=1"},
    {"levanter", 64, 4,
     "model.type=gpt2 model.num_layers=44 model.hidden_dim=6144 model.num_heads=64 model.seq_len=2048 "
     "trainer.train_batch_size=1024 trainer.per_device_parallelism=-1 trainer.model_axis_size=4"},
    {"levanter", 2, 8, "trainer.train_batch_size=256 trainer.model_axis_size=16"},
    /* Colossal-AI, examples/language/llama: scripts/benchmark_70B/3d.sh, gemini.sh and test_ci.sh's kinds */
    {"colossalai", 4, 8, "config='70b' plugin='3d' grad_checkpoint=true batch_size=8 tp=4 pp=2 mbs=1"},
    {"colossalai", 4, 8, "config='70b' plugin=gemini grad_checkpoint=true batch_size=2"},
    {"colossalai", 1, 8, "plugin='3d' tp=2 sp=2 sp_mode=split_gather zero=2"},
    {"colossalai", 1, 8, "plugin='3d' sp=8 sp_mode=all_to_all zero=1"},
    {"colossalai", 1, 8, "plugin='3d' pp=4 pp_style=zbv n_chunks=2 batch_size=8 mbs=1 layers=32"},
    /* NeMo, scripts/performance/recommended_model_configs/model_configs_h100.csv: Llama 3.1 405B, Mixtral 8x22B */
    {"megatron", 128, 8, LLAMA_405B "tp_size=8 pp_size=8 cp_size=2 vp_size=8 mbs=1 gbs=512 " BOTH_ENDS},
    {"megatron", 32, 8,
     "layers=56 heads=48 experts=8 tp_size=4 pp_size=4 cp_size=8 ep_size=8 vp_size=14 etp_size=1 mbs=1 gbs=256 "
     "seq=65536"},
    /* gpt-oss and Qwen3: heads x head dimension is not the hidden size */
    {NULL, 1, 8, "hidden=2880 heads=64 head_dim=64 tp=8"},
    {NULL, 1, 8, "hidden=5120 heads=48 head_dim=128"},
    /* BigScience: 70 layers in 12 stages, embedding and head counted */
    {NULL, 48, 8, "layers=70 hidden=14336 heads=112 tp=4 pp=12 dp=8 micro_batch=2"},
    /* the ultra-scale playbook: 32 layers and more stages than divide them; the engine needs pp - 1 micro-batches */
    {"nanotron", 1, 8, "layers=30 pp=8 gradient_accumulation=7"},
    /* picotron asks for one part for each rank; axolotl pads */
    {NULL, 1, 8, "cp=8 seq=1000"},
    {NULL, 1, 8, "cp=8 seq=8095"},
    /* nanotron's examples/moe/config_llamoe.yaml, of its four devices, and config_tiny_llama.yaml */
    {"nanotron", 1, 4,
     "parallelism.dp=1 parallelism.tp=2 parallelism.pp=1 parallelism.expert_parallel_size=2 moe_num_experts=4"},
    {"nanotron", 1, 8, "dp=4 tp=2 num_hidden_layers=28 num_attention_heads=16 num_key_value_heads=2"},
    /* torchtitan: hybrid sharding with what is left over, context and expert parallelism */
    {"torchtitan", 16, 8, "dp_replicate=2 dp_shard=-1 tp=8 pp=4 layers=126"},
    {"torchtitan", 1, 8, "dp_shard=2 cp=4 seq=131072 ep=4 experts=16"},
    /* torchtitan_recipes/tests/models.py and features.py; llama3's 8,190 tokens between two ranks without the parts */
    {"torchtitan", 1, 8,
     "data_parallel_shard_degree=2 tensor_parallel_degree=2 pipeline_parallel_degree=2 expert_parallel_degree=4 "
     "num_pp_microbatches=8 pipeline_parallel_schedule=Interleaved1F1B num_tokens_per_microbatch_per_dp_rank=2048 "
     "max_context_length=2048 experts=8"},
    {"torchtitan", 1, 8, "pipeline_parallel_degree=4 pipeline_parallel_layers_per_stage=1 layers=6 seq_len=2048"},
    {"torchtitan", 1, 2, "tensor_parallel_degree=2 seq_len=8190"},
    /* torchtitan's configuration as it prints it: a global batch of -1 is what the local ones make */
    {"torchtitan", 1, 8, "training.global_batch_size=-1 training.local_batch_size=4"},
    {"torchtitan", 1, 2,
     "tensor_parallel_degree=2 enable_sequence_parallel=false num_tokens_per_microbatch_per_dp_rank=1023"},
    /* InternEvo: the optimizer within a node */
    {NULL, 4, 8, "dp=32 shard_ranks=8 zero_stage=1"},
    {NULL, 4, 8, "dp=32 shard_ranks=-1 zero_stage=1"},

    /* MaxText, configs/tpu/v5e/128b.sh and v5p/1024b.sh, benchmarks' deepseek_v3_ep_256_v5p_512 and
     * llama2-70b-4096-pw-long-run between two slices, configs/gpu/a3/llama_3.1_405b/128vm.sh */
    {"maxtext", 64, 4,
     "global_parameter_scale=128 per_device_batch_size=2 ici_fsdp_parallelism=-1 ici_tensor_parallelism=8"},
    {"maxtext", 64, 4,
     "global_parameter_scale=1024 per_device_batch_size=2 ici_fsdp_parallelism=-1 ici_tensor_parallelism=16"},
    {"maxtext", 128, 4,
     "base_num_decoder_layers=61 num_experts=256 ici_fsdp_transpose_parallelism=256 ici_fsdp_parallelism=2 "
     "per_device_batch_size=8"},
    {"maxtext", 128, 4, "dcn_fsdp_parallelism=2 ici_fsdp_parallelism=-1 per_device_batch_size=4"},
    {"maxtext", 128, 8,
     "base_num_decoder_layers=126 hardware=gpu num_slices=128 dcn_fsdp_parallelism=64 dcn_pipeline_parallelism=2 "
     "ici_tensor_parallelism=8 ici_fsdp_parallelism=1 per_device_batch_size=2 base_num_query_heads=128 "
     "base_num_kv_heads=8 num_layers_per_pipeline_stage=9"},
    /* torchtune, recipes/configs/llama3_3/70B_full_multinode.yaml and llama3_1/8B_full_single_device.yaml */
    {"torchtune", 2, 8,
     "tensor_parallel_dim=8 data_parallel_shard_dim=-1 data_parallel_replicate_dim=1 optimizer_in_bwd=false"},
    {"torchtune", 1, 1, "optimizer_in_bwd=true gradient_accumulation_steps=1"},
    /* Megatron-DeepSpeed, curriculum_learning/ds_zero_stage_1_config_baseline.json: the optimizer is the script's */
    {"deepspeed", 8, 8, "zero_optimization.stage=1 optimizer.params.max_grad_norm=1.0"},
    /* OLMo, configs/official-1124/OLMo2-13B-stage1.yaml and tiny/OLMo-700M.yaml; picotron's create_config.py */
    {"olmo", 64, 8,
     "global_train_batch_size=2048 device_train_microbatch_size=2 model.vocab_size=100278 model.embedding_size=100352 "
     "model.rope=true model.flash_attention=true"},
    /* Lingua, apps/main/configs/llama_7B.yaml; LitGPT, config_hub/finetune/llama-3-8b and pretrain/tinyllama.yaml */
    {"lingua", 32, 8,
     "distributed.fsdp_type=full_shard distributed.compile=true distributed.tp_size=1 model.dim=4096 model.n_heads=32 "
     "data.batch_size=2"},
    {"litgpt", 1, 1,
     "precision=bf16-true quantize=bnb.nf4 lora_r=32 train.global_batch_size=8 train.micro_batch_size=2"},
    {"litgpt", 1, 8, "precision=bf16-mixed train.global_batch_size=512 train.micro_batch_size=4"},
    /* verl, examples/grpo_trainer: run_qwen2-7b.sh and run_deepseek671b_math_megatron_80gb.sh with dynamic batches */
    {"verl", 1, 8,
     "data.train_batch_size=1024 actor_rollout_ref.actor.ppo_mini_batch_size=256 actor_rollout_ref.rollout.n=5 "
     "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=40"},
    {"verl", 64, 8,
     "data.train_batch_size=512 actor_rollout_ref.actor.ppo_mini_batch_size=128 actor_rollout_ref.rollout.n=16 "
     "actor_rollout_ref.actor.use_dynamic_bsz=true actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=16 "
     "actor_rollout_ref.actor.megatron.expert_model_parallel_size=32"},
    /* NeMo-RL, examples/configs/recipes/llm/performance/grpo-llama3.1-8b-instruct-2n8g.yaml */
    {"nemo-rl", 2, 8,
     "policy.megatron_cfg.enabled=true policy.dtensor_cfg.enabled=false policy.train_global_batch_size=2048 "
     "policy.train_micro_batch_size=1 policy.megatron_cfg.pipeline_model_parallel_size=2 "
     "policy.dtensor_cfg.tensor_parallel_size=3"},
    {"olmo", 1, 8, "alibi=false rope=true block_group_size=1 model.n_layers=16"},
    {"picotron", 2, 8,
     "distributed.tp_size=2 distributed.cp_size=2 distributed.pp_size=2 distributed.dp_size=2 "
     "model.num_attention_heads=16 model.num_key_value_heads=4 training.seq_length=4096"},
    {"picotron", 1, 8, "cp_size=8 seq_len=1000"},
    /* InternEvo, configs/7B_isp_sft.py and 7B_internlm2.py: weights shared by other ranks than a sequence */
    {"internevo", 1, 8,
     "parallel.tensor.size=2 parallel.tensor.mode=isp parallel.weight.size=4 parallel.zero1.size=-1 data.seq_len=2048 "
     "model.num_attention_heads=32"},
    {"internevo", 2, 8, "parallel.zero1.size=8 parallel.pipeline.size=2 model.num_layers=33"},
    {"internevo", 1, 8, "parallel.pipeline.size=4 model.num_chunks=2 model.num_layers=36 data.micro_num=8"},
    /* GPT-NeoX, configs/20B.yml on 96 devices, pythia/12B.yml and mamba/mamba-1.4B.yml, whose heads are none */
    {"gpt-neox", 12, 8,
     "pipe_parallel_size=4 model_parallel_size=2 num_layers=44 hidden_size=6144 num_attention_heads=64 "
     "seq_length=2048"},
    {"gpt-neox", 32, 8,
     "pipe_parallel_size=1 model_parallel_size=4 num_layers=36 hidden_size=5120 num_attention_heads=40"},
    {"gpt-neox", 1, 8, "pipe_parallel_size=0 model_parallel_size=1 num_layers=12"},
    {"gpt-neox", 1, 8, "hidden_size=2048 num_attention_heads=12 attention_config=\"[[['mamba'], 48]]\" num_layers=48"},
};

static const struct planted {
    const char *rule; /* that refuses it, or warns of it */
    struct layout layout;
} planted[] = {
    {"layers-fill-stages", {"megatron", 8, 8, "layers=62 pp=8 first_stage_layers=7 last_stage_layers=8"}},
    {"layers-fill-stages", {"megatron", 1, 8, "layers=30 pp=4"}},
    {"layers-fill-stages", {"megatron", 1, 2, "layers=8 pp=2 first_stage_layers=3 last_stage_layers=4"}},
    {"layers-fill-stages", {"megatron", 128, 8, LLAMA_405B "tp=8 pp=8 account_embedding=true account_loss=false"}},
    {"end-stages-divide-by-vpp", {"megatron", 1, 8, "layers=24 pp=4 vpp=2 first_stage_layers=3 last_stage_layers=5"}},
    {"one-way-to-cut", {"megatron", 1, 4, "layers=8 pp=4 first_stage_layers=2 last_stage_layers=2 " BOTH_ENDS}},
    {"layout-adds-up", {"megatron", 64, 4, DEEPSEEK "pp=16 vpp=2 pipeline_layout=Et*2|(tt|)*29m|L"}},
    {"layout-adds-up", {"megatron", 64, 4, DEEPSEEK "pp=16 vpp=4 pipeline_layout='" LAYOUT_61 "'"}},
    {"layout-adds-up", {"megatron", 1, 4, "layers=4 pp=4 pipeline_layout=Et|t|t|t"}},
    {"layout-adds-up", {"megatron", 1, 4, "layers=4 pp=4 pipeline_layout=Et|t|t|(tL"}},
    {"interleaved-groups", {"megatron", 1, 8, "pp=4 vpp=3 micro_batches=10 microbatch_group=8"}},
    {"interleaved-groups", {"megatron", 1, 8, "pp=4 vpp=3 micro_batches=10 microbatch_group=3"}},
    {"moe-tp-needs-sequence-parallel", {"megatron", 1, 8, "experts=8 tp=2 sequence_parallel=false"}},
    {"expert-groups-divide-devices", {"megatron", 1, 8, "experts=8 tp=2 etp=2 ep=8"}},
    {"optimizer-instances-divide-ranks", {"megatron", 1, 8, "tp=2 optimizer_instances=3"}},
    {"context-all-to-all-heads", {"megatron", 2, 8, "tp=2 cp=8 heads=32 kv_heads=8 cp_comm_type=a2a"}},
    {"context-window", {"megatron", 1, 8, "cp=2 sliding_window=128 cp_comm_type=p2p"}},
    {"context-exchange", {"megatron", 1, 8, "cp=2 cp_comm_type=ring"}},
    /* by the names of its own arguments: transformer_config.py, num_query_groups and num_moe_experts */
    {"kv-heads-divide-by-tp", {"megatron", 1, 8, "num_query_groups=6 tensor_model_parallel_size=4"}},
    {"experts-divide-by-ep", {"megatron", 1, 8, "num_moe_experts=10 expert_model_parallel_size=4"}},
    {"stages-have-layers", {NULL, 1, 8, "layers=4 pp=8"}},
    /* by other names that predictions know */
    {"world-size", {NULL, 1, 8, "tp_size=3"}},
    {"heads-divide-by-tp", {NULL, 1, 8, "num_attention_heads=10 tensor_parallel_size=4"}},
    {"experts-divide-by-ep", {NULL, 1, 8, "n_routed_experts=10 ep_size=4"}},
    {"batch-divides", {NULL, 1, 8, "mbs=2 gbs=24"}},
    {"batch-triad", {NULL, 1, 8, "mbs=2 gbs=0 gradient_accumulation=1"}},
    {"batch-divides", {"torchtitan", 1, 8, "training.global_batch_size=24 training.local_batch_size=2"}},
    {"expert-ranks-divide-devices", {NULL, 64, 4, "experts=256 pp=8 ep=64"}},
    {"shards-divide-ranks", {NULL, 4, 8, "dp=32 shard_ranks=12"}},
    {"world-size", {"nanotron", 1, 8, "dp=2 tp=2 expert_parallel_size=4 moe_num_experts=4"}},
    {"sequence-divides-by-cp", {NULL, 1, 8, "cp=8 seq=1000"}},
    {"sequence-divides-by-cp", {"megatron", 1, 8, "context_parallel_size=4 seq_length=1004"}},
    {"sequence-divides-by-cp", {"nanotron", 1, 8, "dp=2 context_parallel_size=4 sequence_length=1004"}},
    {"heads-divide-by-tp", {"nanotron", 1, 8, "dp=2 tp=4 num_attention_heads=10"}},
    {"micro-batches-start-pipeline", {"nanotron", 1, 8, "layers=30 pp=8 gradient_accumulation=6"}},
    {"zero1-divides-ranks", {"internevo", 1, 8, "parallel.tensor.size=2 parallel.zero1.size=8"}},
    {"layers-divide-by-chunks", {"internevo", 1, 8, "model.num_layers=33 num_chunks=2 pipeline.size=2"}},
    {"interleaved-micro-batches", {"internevo", 1, 8, "model.num_layers=32 num_chunks=2 pipeline.size=4 micro_num=6"}},
    {"weight-parallel-needs-isp", {"internevo", 1, 8, "tensor.mode=mtp weight.size=4"}},
    {"world-size", {"internevo", 1, 8, "tensor.size=3"}},
    {"shards-and-copies-fill-devices", {"torchtune", 1, 8, "data_parallel_replicate_dim=3"}},
    {"shards-and-copies-fill-devices", {"torchtune", 1, 8, "data_parallel_replicate_dim=2 data_parallel_shard_dim=8"}},
    {"optimizer-in-backward-steps-once", {"torchtune", 1, 1, "optimizer_in_bwd=true gradient_accumulation_steps=8"}},
    {"optimizer-in-backward-steps-once", {"torchtune", 1, 1, "optimizer_in_bwd=true clip_grad_norm=1.0"}},
    {"gradients-of-one-step", {"torchtune", 1, 1, "optimizer_in_bwd=true"}},
    {"offloading-needs-checkpointing",
     {"torchtune", 1, 1, "enable_activation_offloading=true enable_activation_checkpointing=false"}},
    {"shards-divide-devices", {"lingua", 1, 8, "fsdp_type=full_shard dp_shard=3"}},
    {"one-shard-without-sharding", {"lingua", 1, 8, "distributed.dp_shard=8"}},
    {"tensor-parallel-is-not-compiled", {"lingua", 1, 8, "fsdp_type=full_shard tp_size=2 compile=true"}},
    {"sizes-divide-by-tp", {"lingua", 1, 8, "fsdp_type=full_shard tp_size=8 dim=4096 n_heads=32 n_kv_heads=4"}},
    {"batch-divides", {"litgpt", 1, 8, "train.global_batch_size=4"}},
    {"quantised-on-one-device", {"litgpt", 1, 2, "quantize=bnb.nf4"}},
    {"quantised-without-mixed-precision", {"litgpt", 1, 1, "quantize=bnb.nf4 precision=bf16-mixed"}},
    {"degrees-divide-devices", {"verl", 1, 8, "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=3"}},
    {"mini-batch-divides-micro-batches", {"verl", 1, 8, "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=24"}},
    {"prompts-fill-mini-batch", {"verl", 1, 8, "data.train_batch_size=128"}},
    {"prompts-divide-ranks", {"verl", 1, 8, "data.train_batch_size=1001"}},
    {"degrees-divide-devices", {"nemo-rl", 1, 8, "policy.dtensor_cfg.tensor_parallel_size=3"}},
    {"one-backend", {"nemo-rl", 1, 8, "policy.dtensor_cfg.enabled=true policy.megatron_cfg.enabled=true"}},
    {"copies-divide-ranks", {"nemo-rl", 1, 8, "policy.dtensor_cfg.dp_replicate_size=3"}},
    {"degrees-fill-devices", {"olmo-core", 1, 8, "train_module.cp_config.degree=3"}},
    {"replicas-and-shards-divide-ranks", {"olmo-core", 1, 8, HSDP "train_module.dp_config.shard_degree=3"}},
    {"experts-with-hybrid-sharding", {"olmo-core", 2, 8, HSDP "train_module.ep_config.degree=4 experts=64"}},
    {"micro-batch-is-of-whole-sequences", {"olmo-core", 1, 8, "rank_microbatch_size=6000 sequence_length=4096"}},
    {"batch-fills-ranks", {"olmo-core", 1, 8, "rank_microbatch_size=4096 global_batch_size=40960"}},
    {"stages-have-layers", {"olmo-core", 1, 8, "train_module.pp_config.degree=8 n_layers=4"}},
    {"batch-fills-devices", {"llm-foundry", 3, 8, "global_train_batch_size=512"}},
    {"heads-divide-width", {"llm-foundry", 1, 8, "d_model=2048 n_heads=24"}},
    {"model-axis-divides-devices", {"levanter", 1, 8, "trainer.model_axis_size=3"}},
    {"replicas-divide-data-axis", {"levanter", 1, 8, "trainer.replica_ici_axis_size=3"}},
    {"batch-fills-data-axis", {"levanter", 1, 8, "trainer.train_batch_size=24 trainer.per_device_parallelism=2"}},
    {"degrees-fill-devices", {"colossalai", 1, 8, "tp=3"}},
    {"zero-stage-in-pipeline", {"colossalai", 1, 8, "pp=2 zero=2"}},
    {"chunks-of-a-schedule", {"colossalai", 1, 8, "pp=2 n_chunks=2"}},
    {"micro-batches-fill-batch", {"colossalai", 1, 8, "pp=2 batch_size=3 mbs=2"}},
    {"split-sequences-with-tensor-parallelism", {"colossalai", 1, 8, "sp=2 sp_mode=ring"}},
    {"batch-fills-ranks", {"olmo", 1, 8, "global_train_batch_size=12"}},
    {"embedding-holds-vocabulary", {"olmo", 1, 8, "vocab_size=50280 model.embedding_size=50176"}},
    {"one-kind-of-positions", {"olmo", 1, 8, "model.alibi=true model.rope=true"}},
    {"layers-fill-groups", {"olmo", 1, 8, "n_layers=16 block_group_size=3"}},
    {"replicas-divide-nodes", {"olmo", 2, 8, "fsdp.hybrid_sharding_num_model_replicas=3"}},
    {"sequence-divides-by-cp", {"picotron", 1, 8, "cp_size=8 seq_len=1004"}},
    {"kv-heads-divide-by-tp", {"picotron", 1, 8, "tp_size=8 num_key_value_heads=4"}},
    {"vocabulary-divides-by-tp", {"picotron", 1, 8, "tp_size=8 vocab_size=50257"}},
    {"world-size", {"picotron", 1, 8, "tp_size=2 dp_size=2"}},
    {"world-size", {"maxtext", 1, 8, "ici_fsdp_parallelism=4"}},
    {"world-size", {"maxtext", 1, 8, "ici_tensor_parallelism=3"}},
    {"world-size", {"maxtext", 1, 8, "ici_fsdp_parallelism=4 ici_tensor_parallelism=2 dcn_data_parallelism=2"}},
    {"one-axis-is-left-over", {"maxtext", 1, 8, "ici_data_parallelism=-1"}},
    {"batch-divides-ranks",
     {"maxtext", 1, 8, "ici_fsdp_parallelism=-1 per_device_batch_size=1.5 ici_expert_parallelism=8"}},
    {"micro-batches-fill-pipeline", {"maxtext", 1, 8, "ici_pipeline_parallelism=4 num_pipeline_microbatches=6"}},
    {"micro-batches-fill-pipeline",
     {"maxtext", 1, 8,
      "ici_pipeline_parallelism=4 num_pipeline_microbatches=4 pipeline_delay_activation_forwarding=true"}},
    {"layers-fill-stages", {"maxtext", 1, 8, "ici_pipeline_parallelism=4 base_num_decoder_layers=22"}},
    {"layers-fill-stages", {"maxtext", 1, 8, "ici_pipeline_parallelism=4 num_pipeline_repeats=3"}},
    {"kv-heads-divide-heads",
     {"maxtext", 1, 8, "base_num_query_heads=32 base_num_kv_heads=4 ici_tensor_parallelism=8"}},
    {"hidden-divides-by-heads", {"gpt-neox", 1, 8, "hidden_size=2048 num_attention_heads=12"}},
    {"kv-heads-divide-by-tp", {"gpt-neox", 1, 8, "model_parallel_size=4 num_attention_heads=32 num_kv_heads=2"}},
    {"world-size", {"gpt-neox", 1, 8, "pipe_parallel_size=3"}},
    {"sequence-divides-in-releases", {"torchtitan", 1, 2, "tensor_parallel_degree=2 seq_len=8190"}},
    {"vpp-needs-pp", {"megatron", 1, 8, "pp=1 vpp=2"}},
    {"interleaved-micro-batches", {"megatron", 1, 8, "pp=4 vpp=3 micro_batches=5"}},
    {"expert-tensor-degree", {"megatron", 1, 8, "tp=4 pp=2 ep=4 num_moe_experts=256 sequence_parallel=true"}},
    {"world-size", {"torchtitan", 1, 8, "dp_replicate=3 dp_shard=-1 tp=2"}},
    {"sequence-divides-by-tp-and-cp", {"torchtitan", 1, 8, "dp_shard=4 cp=2 seq=1022"}},
    {"sequence-divides-by-tp-and-cp",
     {"torchtitan", 1, 8, "tp=8 num_tokens_per_microbatch_per_dp_rank=1020 max_context_length=2048"}},
    {"layers-fill-stages", {"torchtitan", 1, 8, "pp=4 layers=32 pipeline_parallel_layers_per_stage=6"}},
    {"experts-borrow-ranks", {"torchtitan", 2, 8, "dp_replicate=4 dp_shard=4 ep=8 experts=16"}},
    {"world-size", {"hf-trainer", 1, 8, "dp_shard_size=4 tensor_parallel_size=4"}},
};

/* Ends the test unless it breaks the rule, or no rule that is not a warning. */
static void check_layout(const struct layout *l, const char *rule)
{
    OWNED char *profile = l->profile ? xasprintf("profile = \"%s\"\n", l->profile) : xstrdup("");
    OWNED char *lines = toml_of(l->keys);
    OWNED char *text = xasprintf("%s[cluster_spec]\nnum_hosts = %d\nnum_devices_per_host = %d\n[parallel_spec]\n%s",
                                 profile, l->hosts, l->devices_per_host, lines);
    HELD(built) b = build_text(text);
    HELD(plan) p = plan_of(&b);
    bool found = rule == NULL;
    for (size_t i = 0; i < b.space->rule_count; i++) {
        const char *name = b.space->rules[i].name;
        bool breaks = p.match.rules[i].alone > 0;
        found |= breaks && rule && strcmp(name, rule) == 0;
        FAIL_WHERE(breaks && !b.space->rules[i].warning && !rule, "%s refuses what ran: %s", name, l->keys);
    }
    FAIL_WHERE(!found, "%s does not refuse: %s", rule, l->keys);
}

TEST(layouts__published_and_planted__accepted_and_refused)
{
    for (size_t i = round_first(); i < LENGTH(ran); i += round_step())
        check_layout(&ran[i], NULL);
    for (size_t i = round_first(); i < LENGTH(planted); i += round_step())
        check_layout(&planted[i].layout, planted[i].rule);
}

/* Each rule of these profiles has one that it refuses. */
TEST_ROWS(profiles__every_rule__refuses_a_layout, (const char *text), {"colossalai"}, {"gpt-neox"}, {"internevo"},
          {"levanter"}, {"lingua"}, {"litgpt"}, {"llm-foundry"}, {"maxtext"}, {"megatron"}, {"nanotron"}, {"nemo-rl"},
          {"olmo"}, {"olmo-core"}, {"picotron"}, {"torchtitan"}, {"torchtune"}, {"verl"})
{
    OWNED char *text = xasprintf("profile = \"%s\"\n[parallel_spec]\nx = 1\n", row->text);
    HELD(built) b = build_text(text);
    for (size_t r = 0; r < b.sweep->rule_count; r++) {
        const char *name = b.sweep->rules[r].name;
        bool found = false;
        for (size_t k = 0; k < LENGTH(planted); k++)
            found |= strcmp(planted[k].rule, name) == 0;
        FAIL_WHERE(!found, "no layout that %s refuses", name);
    }
}
