/* Layouts that were published with what they ran, which every rule must accept, and layouts like them that the
 * framework refuses, each with the rule that must say so. */
#include "space_fixture.h"

struct layout {
    const char *profile; /* NULL: none */
    int hosts, devices_per_host;
    const char *keys;
};

#define DEEPSEEK                                                                                                       \
    "layers = 61\nhidden = 7168\nheads = 128\nqk_head_dim = 128\nexperts = 256\nmtp_layers = 1\nseq = 4096\n"
#define QWEN_235B "layers = 94\nhidden = 4096\nheads = 64\nkv_heads = 4\nhead_dim = 128\nexperts = 128\nseq = 4096\n"
#define LLAMA_405B "layers = 126\nhidden = 16384\nheads = 128\nkv_heads = 8\nseq = 8192\n"
#define OLMO_32B "model.n_layers = 64\nmodel.d_model = 5120\nn_heads = 40\nn_kv_heads = 8\n"
#define HSDP "train_module.dp_config.name = \"hsdp\"\ntrain_module.dp_config.param_dtype = \"bfloat16\"\n"
#define MPT                                                                                                            \
    "model.vocab_size = 50368\nmax_seq_len = 2048\nprecision = \"amp_bf16\"\nmodel.attn_config.attn_impl = "           \
    "\"flash\"\n"                                                                                                      \
    "fsdp_config.sharding_strategy = \"FULL_SHARD\"\ndevice_train_microbatch_size = 8\nglobal_train_batch_size = "
#define LAYOUT_61 "Et*3|(tt|)*29m|L"
#define BOTH_ENDS "account_embedding = true\naccount_loss = true\n"

static const struct layout ran[] = {
    /* Megatron-Bridge, docs/performance-summary.md */
    {"megatron", 128, 8, DEEPSEEK "tp = 2\npp = 8\nvpp = 4\nep = 64\netp = 1\nsequence_parallel = true\n"},
    {"megatron", 64, 4, DEEPSEEK "tp = 1\npp = 4\nvpp = 4\nep = 64\nglobal_batch = 2048\nmicro_batch = 1\n"},
    {NULL, 64, 4, DEEPSEEK "tp = 1\npp = 16\nep = 8\ndp = 16\n"},
    {"megatron", 64, 4, DEEPSEEK "tp = 1\npp = 16\nvpp = 2\nep = 8\npipeline_layout = \"" LAYOUT_61 "\"\n"},
    {"megatron", 128, 8, LLAMA_405B "tp = 8\npp = 8\nvpp = 8\ncp = 2\n" BOTH_ENDS},
    {NULL, 128, 8, LLAMA_405B "tp = 8\npp = 16\ndp = 8\n"},
    {"megatron", 32, 8, QWEN_235B "tp = 2\npp = 8\nvpp = 4\nep = 32\netp = 1\nsequence_parallel = true\n" BOTH_ENDS},
    {"megatron", 8, 8, "layers = 62\npp = 8\nfirst_stage_layers = 7\nlast_stage_layers = 7\n"},
    {"megatron", 1, 8, "layers = 6\npp = 4\nvpp = 2\n" BOTH_ENDS},
    {"megatron", 1, 8, "layers = 13\npp = 2\nvpp = 4\npipeline_layout = \"Et|(tt|)*6mL\"\n"},
    {"megatron", 1, 8, "layers = 14\npp = 4\nvpp = 2\nmtp_layers = 1\npipeline_layout = \"Et*2|(tt|)*5t|tmL\"\n"},
    /* Megatron-Bridge glm/h100/glm45.py, stepfun/h100/step35.py and nemotronh/h100/nemotron_3_ultra.py: sequence
     * parallelism without tensor parallelism is turned off */
    {"megatron", 4, 8,
     "layers = 46\nmtp_layers = 1\ntp = 1\npp = 4\nep = 8\nnum_moe_experts = 128\nsequence_parallel = true\n"},
    {"megatron", 64, 8, "pp = 8\ncp = 8\nep = 8\nnum_moe_experts = 288\nsequence_parallel = true\n"},
    {"megatron", 3, 8, "pp = 3\nep = 8\nnum_moe_experts = 512\nsequence_parallel = true\n"},
    /* Megatron-Bridge recipes/qwen_vl: without an expert-tensor degree it is 1 */
    {"megatron", 1, 8, "tp = 4\npp = 2\nep = 4\nnum_moe_experts = 256\nsequence_parallel = true\n"},
    {"megatron", 32, 8, "tp = 4\npp = 16\ncp = 2\nep = 8\nnum_moe_experts = 128\nsequence_parallel = true\n"},
    /* Megatron-LM's functional tests, five micro-batches in a group */
    {"megatron", 1, 8, "pp = 4\nvpp = 3\nmicro_batches = 5\n"},
    {"megatron", 1, 8, "pp = 4\nvpp = 3\nmicro_batches = 10\nmicrobatch_group = 5\n"},
    /* OLMo-core, src/scripts/official/OLMo3: 32B on 1,024 H100 and its long contexts, 7B's on 256; src/scripts/train,
     * OLMoE-1B-7B.py and OLMoE2-large.py */
    {"olmo-core", 128, 8,
     OLMO_32B "train_module.rank_microbatch_size = 8192\ndata_loader.global_batch_size = 8388608\n" HSDP
              "train_module.dp_config.shard_degree = 64\ntrain_module.ac_config.mode = \"budget\"\n"
              "train_module.ac_config.activation_memory_budget = 0.5\ntrain_module.max_sequence_length = 8192\n"},
    {"olmo-core", 128, 8,
     OLMO_32B "train_module.rank_microbatch_size = 65536\ndata_loader.global_batch_size = 8388608\n" HSDP
              "train_module.dp_config.shard_degree = 8\ntrain_module.cp_config.degree = 8\n"
              "train_module.max_sequence_length = 65536\n"},
    {"olmo-core", 32, 8,
     "model.n_layers = 32\nmodel.d_model = 4096\ntrain_module.rank_microbatch_size = 65536\n"
     "data_loader.global_batch_size = 4194304\n" HSDP "train_module.dp_config.shard_degree = 1\n"
     "train_module.cp_config.degree = 8\ntrain_module.max_sequence_length = 65536\n"},
    {"olmo-core", 16, 8,
     "train_module.rank_microbatch_size = 8192\ndata_loader.global_batch_size = 4194304\nsequence_length = 4096\n"
     "train_module.dp_config.name = \"fsdp\"\nexperts = 64\n"},
    {"olmo-core", 8, 8,
     HSDP "train_module.dp_config.num_replicas = 1\ntrain_module.ep_config.degree = -1\nexperts = 64\nheads = 32\n"},
    /* axolotl, examples/distributed-parallel */
    {"hf-trainer", 1, 8, "dp_shard_size = 2\ncontext_parallel_size = 2\ntensor_parallel_size = 2\nfsdp_version = 2\n"},
    {"hf-trainer", 2, 8, "dp_replicate_size = 2\ndp_shard_size = 4\ntensor_parallel_size = 2\nfsdp_version = 2\n"},

    /* LLM Foundry, scripts/train/yamls/pretrain/mpt-7b.yaml and mpt-70b.yaml, on devices of its benchmarks */
    {"llm-foundry", 1, 8, "model.d_model = 4096\nmodel.n_heads = 32\nmodel.n_layers = 32\n" MPT "1024\n"},
    {"llm-foundry", 64, 8, "model.d_model = 8192\nmodel.n_heads = 64\nmodel.n_layers = 80\n" MPT "4096\n"},
    /* scripts/train/benchmarking/README.md: the last micro-batch may be smaller, and none is larger than the batch */
    {"llm-foundry", 1, 8, "global_train_batch_size = 48\ndevice_train_microbatch_size = [4, 11]\n"},
    /* Levanter, config/llama2_7b.yaml, gpt2_20b.yaml and llama_7b_tulu.yaml */
    {"levanter", 32, 4,
     "trainer.per_device_parallelism = 2\ntrainer.train_batch_size = 1024\ntrainer.model_axis_size = 1\n"},
    {"levanter", 64, 4,
     "model.type = \"gpt2\"\nmodel.num_layers = 44\nmodel.hidden_dim = 6144\nmodel.num_heads = 64\nmodel.seq_len = "
     "2048\n"
     "trainer.train_batch_size = 1024\ntrainer.per_device_parallelism = -1\ntrainer.model_axis_size = 4\n"},
    {"levanter", 2, 8, "trainer.train_batch_size = 256\ntrainer.model_axis_size = 16\n"},
    /* Colossal-AI, examples/language/llama: scripts/benchmark_70B/3d.sh, gemini.sh and test_ci.sh's kinds */
    {"colossalai", 4, 8,
     "config = \"70b\"\nplugin = \"3d\"\ngrad_checkpoint = true\nbatch_size = 8\ntp = 4\npp = 2\nmbs = 1\n"},
    {"colossalai", 4, 8, "config = \"70b\"\nplugin = \"gemini\"\ngrad_checkpoint = true\nbatch_size = 2\n"},
    {"colossalai", 1, 8, "plugin = \"3d\"\ntp = 2\nsp = 2\nsp_mode = \"split_gather\"\nzero = 2\n"},
    {"colossalai", 1, 8, "plugin = \"3d\"\nsp = 8\nsp_mode = \"all_to_all\"\nzero = 1\n"},
    {"colossalai", 1, 8,
     "plugin = \"3d\"\npp = 4\npp_style = \"zbv\"\nn_chunks = 2\nbatch_size = 8\nmbs = 1\nlayers = 32\n"},
    /* NeMo, scripts/performance/recommended_model_configs/model_configs_h100.csv: Llama 3.1 405B, Mixtral 8x22B */
    {"megatron", 128, 8,
     LLAMA_405B "tp_size = 8\npp_size = 8\ncp_size = 2\nvp_size = 8\nmbs = 1\ngbs = 512\n" BOTH_ENDS},
    {"megatron", 32, 8,
     "layers = 56\nheads = 48\nexperts = 8\ntp_size = 4\npp_size = 4\ncp_size = 8\nep_size = 8\nvp_size = 14\n"
     "etp_size = 1\nmbs = 1\ngbs = 256\nseq = 65536\n"},
    /* gpt-oss and Qwen3: heads x head dimension is not the hidden size */
    {NULL, 1, 8, "hidden = 2880\nheads = 64\nhead_dim = 64\ntp = 8\n"},
    {NULL, 1, 8, "hidden = 5120\nheads = 48\nhead_dim = 128\n"},
    /* BigScience: 70 layers in 12 stages, embedding and head counted */
    {NULL, 48, 8, "layers = 70\nhidden = 14336\nheads = 112\ntp = 4\npp = 12\ndp = 8\nmicro_batch = 2\n"},
    /* the ultra-scale playbook: 32 layers and more stages than divide them; the engine needs pp - 1 micro-batches */
    {"nanotron", 1, 8, "layers = 30\npp = 8\ngradient_accumulation = 7\n"},
    /* picotron asks for one part for each rank; axolotl pads */
    {NULL, 1, 8, "cp = 8\nseq = 1000\n"},
    {NULL, 1, 8, "cp = 8\nseq = 8095\n"},
    /* nanotron's examples/moe/config_llamoe.yaml, of its four devices, and config_tiny_llama.yaml */
    {"nanotron", 1, 4,
     "parallelism.dp = 1\nparallelism.tp = 2\nparallelism.pp = 1\nparallelism.expert_parallel_size = 2\n"
     "moe_num_experts = 4\n"},
    {"nanotron", 1, 8, "dp = 4\ntp = 2\nnum_hidden_layers = 28\nnum_attention_heads = 16\nnum_key_value_heads = 2\n"},
    /* torchtitan: hybrid sharding with what is left over, context and expert parallelism */
    {"torchtitan", 16, 8, "dp_replicate = 2\ndp_shard = -1\ntp = 8\npp = 4\nlayers = 126\n"},
    {"torchtitan", 1, 8, "dp_shard = 2\ncp = 4\nseq = 131072\nep = 4\nexperts = 16\n"},
    /* torchtitan_recipes/tests/models.py and features.py; llama3's 8,190 tokens between two ranks without the parts */
    {"torchtitan", 1, 8,
     "data_parallel_shard_degree = 2\ntensor_parallel_degree = 2\npipeline_parallel_degree = 2\n"
     "expert_parallel_degree = 4\nnum_pp_microbatches = 8\npipeline_parallel_schedule = \"Interleaved1F1B\"\n"
     "num_tokens_per_microbatch_per_dp_rank = 2048\nmax_context_length = 2048\nexperts = 8\n"},
    {"torchtitan", 1, 8,
     "pipeline_parallel_degree = 4\npipeline_parallel_layers_per_stage = 1\nlayers = 6\nseq_len = 2048\n"},
    {"torchtitan", 1, 2, "tensor_parallel_degree = 2\nseq_len = 8190\n"},
    /* torchtitan's configuration as it prints it: a global batch of -1 is what the local ones make */
    {"torchtitan", 1, 8, "training.global_batch_size = -1\ntraining.local_batch_size = 4\n"},
    {"torchtitan", 1, 2,
     "tensor_parallel_degree = 2\nenable_sequence_parallel = false\nnum_tokens_per_microbatch_per_dp_rank = 1023\n"},
    /* InternEvo: the optimizer within a node */
    {NULL, 4, 8, "dp = 32\nshard_ranks = 8\nzero_stage = 1\n"},
    {NULL, 4, 8, "dp = 32\nshard_ranks = -1\nzero_stage = 1\n"},

    /* MaxText, configs/tpu/v5e/128b.sh and v5p/1024b.sh, benchmarks' deepseek_v3_ep_256_v5p_512 and
     * llama2-70b-4096-pw-long-run between two slices, configs/gpu/a3/llama_3.1_405b/128vm.sh */
    {"maxtext", 64, 4,
     "global_parameter_scale = 128\nper_device_batch_size = 2\nici_fsdp_parallelism = -1\nici_tensor_parallelism = "
     "8\n"},
    {"maxtext", 64, 4,
     "global_parameter_scale = 1024\nper_device_batch_size = 2\nici_fsdp_parallelism = -1\n"
     "ici_tensor_parallelism = 16\n"},
    {"maxtext", 128, 4,
     "base_num_decoder_layers = 61\nnum_experts = 256\nici_fsdp_transpose_parallelism = 256\n"
     "ici_fsdp_parallelism = 2\nper_device_batch_size = 8\n"},
    {"maxtext", 128, 4, "dcn_fsdp_parallelism = 2\nici_fsdp_parallelism = -1\nper_device_batch_size = 4\n"},
    {"maxtext", 128, 8,
     "base_num_decoder_layers = 126\nhardware = \"gpu\"\nnum_slices = 128\ndcn_fsdp_parallelism = 64\n"
     "dcn_pipeline_parallelism = 2\nici_tensor_parallelism = 8\nici_fsdp_parallelism = 1\nper_device_batch_size = 2\n"
     "base_num_query_heads = 128\nbase_num_kv_heads = 8\nnum_layers_per_pipeline_stage = 9\n"},
    /* torchtune, recipes/configs/llama3_3/70B_full_multinode.yaml and llama3_1/8B_full_single_device.yaml */
    {"torchtune", 2, 8,
     "tensor_parallel_dim = 8\ndata_parallel_shard_dim = -1\ndata_parallel_replicate_dim = 1\n"
     "optimizer_in_bwd = false\n"},
    {"torchtune", 1, 1, "optimizer_in_bwd = true\ngradient_accumulation_steps = 1\n"},
    /* Megatron-DeepSpeed, curriculum_learning/ds_zero_stage_1_config_baseline.json: the optimizer is the script's */
    {"deepspeed", 8, 8, "zero_optimization.stage = 1\noptimizer.params.max_grad_norm = 1.0\n"},
    /* OLMo, configs/official-1124/OLMo2-13B-stage1.yaml and tiny/OLMo-700M.yaml; picotron's create_config.py */
    {"olmo", 64, 8,
     "global_train_batch_size = 2048\ndevice_train_microbatch_size = 2\nmodel.vocab_size = 100278\n"
     "model.embedding_size = 100352\nmodel.rope = true\nmodel.flash_attention = true\n"},
    /* Lingua, apps/main/configs/llama_7B.yaml; LitGPT, config_hub/finetune/llama-3-8b and pretrain/tinyllama.yaml */
    {"lingua", 32, 8,
     "distributed.fsdp_type = \"full_shard\"\ndistributed.compile = true\ndistributed.tp_size = 1\nmodel.dim = 4096\n"
     "model.n_heads = 32\ndata.batch_size = 2\n"},
    {"litgpt", 1, 1,
     "precision = \"bf16-true\"\nquantize = \"bnb.nf4\"\nlora_r = 32\ntrain.global_batch_size = 8\n"
     "train.micro_batch_size = 2\n"},
    {"litgpt", 1, 8, "precision = \"bf16-mixed\"\ntrain.global_batch_size = 512\ntrain.micro_batch_size = 4\n"},
    /* verl, examples/grpo_trainer: run_qwen2-7b.sh and run_deepseek671b_math_megatron_80gb.sh with dynamic batches */
    {"verl", 1, 8,
     "data.train_batch_size = 1024\nactor_rollout_ref.actor.ppo_mini_batch_size = 256\nactor_rollout_ref.rollout.n = "
     "5\n"
     "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu = 40\n"},
    {"verl", 64, 8,
     "data.train_batch_size = 512\nactor_rollout_ref.actor.ppo_mini_batch_size = 128\nactor_rollout_ref.rollout.n = "
     "16\n"
     "actor_rollout_ref.actor.use_dynamic_bsz = true\nactor_rollout_ref.actor.megatron.pipeline_model_parallel_size = "
     "16\n"
     "actor_rollout_ref.actor.megatron.expert_model_parallel_size = 32\n"},
    /* NeMo-RL, examples/configs/recipes/llm/performance/grpo-llama3.1-8b-instruct-2n8g.yaml */
    {"nemo-rl", 2, 8,
     "policy.megatron_cfg.enabled = true\npolicy.dtensor_cfg.enabled = false\npolicy.train_global_batch_size = 2048\n"
     "policy.train_micro_batch_size = 1\npolicy.megatron_cfg.pipeline_model_parallel_size = 2\n"
     "policy.dtensor_cfg.tensor_parallel_size = 3\n"},
    {"olmo", 1, 8, "alibi = false\nrope = true\nblock_group_size = 1\nmodel.n_layers = 16\n"},
    {"picotron", 2, 8,
     "distributed.tp_size = 2\ndistributed.cp_size = 2\ndistributed.pp_size = 2\ndistributed.dp_size = 2\n"
     "model.num_attention_heads = 16\nmodel.num_key_value_heads = 4\ntraining.seq_length = 4096\n"},
    {"picotron", 1, 8, "cp_size = 8\nseq_len = 1000\n"},
    /* InternEvo, configs/7B_isp_sft.py and 7B_internlm2.py: weights shared by other ranks than a sequence */
    {"internevo", 1, 8,
     "parallel.tensor.size = 2\nparallel.tensor.mode = \"isp\"\nparallel.weight.size = 4\nparallel.zero1.size = -1\n"
     "data.seq_len = 2048\nmodel.num_attention_heads = 32\n"},
    {"internevo", 2, 8, "parallel.zero1.size = 8\nparallel.pipeline.size = 2\nmodel.num_layers = 33\n"},
    {"internevo", 1, 8,
     "parallel.pipeline.size = 4\nmodel.num_chunks = 2\nmodel.num_layers = 36\ndata.micro_num = 8\n"},
    /* GPT-NeoX, configs/20B.yml on 96 devices, pythia/12B.yml and mamba/mamba-1.4B.yml, whose heads are none */
    {"gpt-neox", 12, 8,
     "pipe_parallel_size = 4\nmodel_parallel_size = 2\nnum_layers = 44\nhidden_size = 6144\nnum_attention_heads = 64\n"
     "seq_length = 2048\n"},
    {"gpt-neox", 32, 8,
     "pipe_parallel_size = 1\nmodel_parallel_size = 4\nnum_layers = 36\nhidden_size = 5120\nnum_attention_heads = "
     "40\n"},
    {"gpt-neox", 1, 8, "pipe_parallel_size = 0\nmodel_parallel_size = 1\nnum_layers = 12\n"},
    {"gpt-neox", 1, 8,
     "hidden_size = 2048\nnum_attention_heads = 12\nattention_config = \"[[['mamba'], 48]]\"\nnum_layers = 48\n"},
};

static const struct planted {
    const char *rule; /* that refuses it, or warns of it */
    struct layout layout;
} planted[] = {
    {"layers-fill-stages", {"megatron", 8, 8, "layers = 62\npp = 8\nfirst_stage_layers = 7\nlast_stage_layers = 8\n"}},
    {"layers-fill-stages", {"megatron", 1, 8, "layers = 30\npp = 4\n"}},
    {"layers-fill-stages", {"megatron", 1, 2, "layers = 8\npp = 2\nfirst_stage_layers = 3\nlast_stage_layers = 4\n"}},
    {"layers-fill-stages",
     {"megatron", 128, 8, LLAMA_405B "tp = 8\npp = 8\naccount_embedding = true\naccount_loss = false\n"}},
    {"end-stages-divide-by-vpp",
     {"megatron", 1, 8, "layers = 24\npp = 4\nvpp = 2\nfirst_stage_layers = 3\nlast_stage_layers = 5\n"}},
    {"one-way-to-cut",
     {"megatron", 1, 4, "layers = 8\npp = 4\nfirst_stage_layers = 2\nlast_stage_layers = 2\n" BOTH_ENDS}},
    {"layout-adds-up", {"megatron", 64, 4, DEEPSEEK "pp = 16\nvpp = 2\npipeline_layout = \"Et*2|(tt|)*29m|L\"\n"}},
    {"layout-adds-up", {"megatron", 64, 4, DEEPSEEK "pp = 16\nvpp = 4\npipeline_layout = \"" LAYOUT_61 "\"\n"}},
    {"layout-adds-up", {"megatron", 1, 4, "layers = 4\npp = 4\npipeline_layout = \"Et|t|t|t\"\n"}},
    {"layout-adds-up", {"megatron", 1, 4, "layers = 4\npp = 4\npipeline_layout = \"Et|t|t|(tL\"\n"}},
    {"interleaved-groups", {"megatron", 1, 8, "pp = 4\nvpp = 3\nmicro_batches = 10\nmicrobatch_group = 8\n"}},
    {"interleaved-groups", {"megatron", 1, 8, "pp = 4\nvpp = 3\nmicro_batches = 10\nmicrobatch_group = 3\n"}},
    {"moe-tp-needs-sequence-parallel", {"megatron", 1, 8, "experts = 8\ntp = 2\nsequence_parallel = false\n"}},
    {"expert-groups-divide-devices", {"megatron", 1, 8, "experts = 8\ntp = 2\netp = 2\nep = 8\n"}},
    {"optimizer-instances-divide-ranks", {"megatron", 1, 8, "tp = 2\noptimizer_instances = 3\n"}},
    {"context-all-to-all-heads",
     {"megatron", 2, 8, "tp = 2\ncp = 8\nheads = 32\nkv_heads = 8\ncp_comm_type = \"a2a\"\n"}},
    {"context-window", {"megatron", 1, 8, "cp = 2\nsliding_window = 128\ncp_comm_type = \"p2p\"\n"}},
    {"context-exchange", {"megatron", 1, 8, "cp = 2\ncp_comm_type = \"ring\"\n"}},
    /* by the names of its own arguments: transformer_config.py, num_query_groups and num_moe_experts */
    {"kv-heads-divide-by-tp", {"megatron", 1, 8, "num_query_groups = 6\ntensor_model_parallel_size = 4\n"}},
    {"experts-divide-by-ep", {"megatron", 1, 8, "num_moe_experts = 10\nexpert_model_parallel_size = 4\n"}},
    {"stages-have-layers", {NULL, 1, 8, "layers = 4\npp = 8\n"}},
    /* by other names that predictions know */
    {"world-size", {NULL, 1, 8, "tp_size = 3\n"}},
    {"heads-divide-by-tp", {NULL, 1, 8, "num_attention_heads = 10\ntensor_parallel_size = 4\n"}},
    {"experts-divide-by-ep", {NULL, 1, 8, "n_routed_experts = 10\nep_size = 4\n"}},
    {"batch-divides", {NULL, 1, 8, "mbs = 2\ngbs = 24\n"}},
    {"batch-triad", {NULL, 1, 8, "mbs = 2\ngbs = 0\ngradient_accumulation = 1\n"}},
    {"batch-divides", {"torchtitan", 1, 8, "training.global_batch_size = 24\ntraining.local_batch_size = 2\n"}},
    {"expert-ranks-divide-devices", {NULL, 64, 4, "experts = 256\npp = 8\nep = 64\n"}},
    {"shards-divide-ranks", {NULL, 4, 8, "dp = 32\nshard_ranks = 12\n"}},
    {"world-size", {"nanotron", 1, 8, "dp = 2\ntp = 2\nexpert_parallel_size = 4\nmoe_num_experts = 4\n"}},
    {"sequence-divides-by-cp", {NULL, 1, 8, "cp = 8\nseq = 1000\n"}},
    {"sequence-divides-by-cp", {"megatron", 1, 8, "context_parallel_size = 4\nseq_length = 1004\n"}},
    {"sequence-divides-by-cp", {"nanotron", 1, 8, "dp = 2\ncontext_parallel_size = 4\nsequence_length = 1004\n"}},
    {"heads-divide-by-tp", {"nanotron", 1, 8, "dp = 2\ntp = 4\nnum_attention_heads = 10\n"}},
    {"micro-batches-start-pipeline", {"nanotron", 1, 8, "layers = 30\npp = 8\ngradient_accumulation = 6\n"}},
    {"zero1-divides-ranks", {"internevo", 1, 8, "parallel.tensor.size = 2\nparallel.zero1.size = 8\n"}},
    {"layers-divide-by-chunks", {"internevo", 1, 8, "model.num_layers = 33\nnum_chunks = 2\npipeline.size = 2\n"}},
    {"interleaved-micro-batches",
     {"internevo", 1, 8, "model.num_layers = 32\nnum_chunks = 2\npipeline.size = 4\nmicro_num = 6\n"}},
    {"weight-parallel-needs-isp", {"internevo", 1, 8, "tensor.mode = \"mtp\"\nweight.size = 4\n"}},
    {"world-size", {"internevo", 1, 8, "tensor.size = 3\n"}},
    {"shards-and-copies-fill-devices", {"torchtune", 1, 8, "data_parallel_replicate_dim = 3\n"}},
    {"shards-and-copies-fill-devices",
     {"torchtune", 1, 8, "data_parallel_replicate_dim = 2\ndata_parallel_shard_dim = 8\n"}},
    {"optimizer-in-backward-steps-once",
     {"torchtune", 1, 1, "optimizer_in_bwd = true\ngradient_accumulation_steps = 8\n"}},
    {"optimizer-in-backward-steps-once", {"torchtune", 1, 1, "optimizer_in_bwd = true\nclip_grad_norm = 1.0\n"}},
    {"gradients-of-one-step", {"torchtune", 1, 1, "optimizer_in_bwd = true\n"}},
    {"offloading-needs-checkpointing",
     {"torchtune", 1, 1, "enable_activation_offloading = true\nenable_activation_checkpointing = false\n"}},
    {"shards-divide-devices", {"lingua", 1, 8, "fsdp_type = \"full_shard\"\ndp_shard = 3\n"}},
    {"one-shard-without-sharding", {"lingua", 1, 8, "distributed.dp_shard = 8\n"}},
    {"tensor-parallel-is-not-compiled", {"lingua", 1, 8, "fsdp_type = \"full_shard\"\ntp_size = 2\ncompile = true\n"}},
    {"sizes-divide-by-tp",
     {"lingua", 1, 8, "fsdp_type = \"full_shard\"\ntp_size = 8\ndim = 4096\nn_heads = 32\nn_kv_heads = 4\n"}},
    {"batch-divides", {"litgpt", 1, 8, "train.global_batch_size = 4\n"}},
    {"quantised-on-one-device", {"litgpt", 1, 2, "quantize = \"bnb.nf4\"\n"}},
    {"quantised-without-mixed-precision", {"litgpt", 1, 1, "quantize = \"bnb.nf4\"\nprecision = \"bf16-mixed\"\n"}},
    {"degrees-divide-devices", {"verl", 1, 8, "actor_rollout_ref.actor.megatron.tensor_model_parallel_size = 3\n"}},
    {"mini-batch-divides-micro-batches", {"verl", 1, 8, "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu = 24\n"}},
    {"prompts-fill-mini-batch", {"verl", 1, 8, "data.train_batch_size = 128\n"}},
    {"prompts-divide-ranks", {"verl", 1, 8, "data.train_batch_size = 1001\n"}},
    {"degrees-divide-devices", {"nemo-rl", 1, 8, "policy.dtensor_cfg.tensor_parallel_size = 3\n"}},
    {"one-backend", {"nemo-rl", 1, 8, "policy.dtensor_cfg.enabled = true\npolicy.megatron_cfg.enabled = true\n"}},
    {"copies-divide-ranks", {"nemo-rl", 1, 8, "policy.dtensor_cfg.dp_replicate_size = 3\n"}},
    {"degrees-fill-devices", {"olmo-core", 1, 8, "train_module.cp_config.degree = 3\n"}},
    {"replicas-and-shards-divide-ranks", {"olmo-core", 1, 8, HSDP "train_module.dp_config.shard_degree = 3\n"}},
    {"experts-with-hybrid-sharding", {"olmo-core", 2, 8, HSDP "train_module.ep_config.degree = 4\nexperts = 64\n"}},
    {"micro-batch-is-of-whole-sequences", {"olmo-core", 1, 8, "rank_microbatch_size = 6000\nsequence_length = 4096\n"}},
    {"batch-fills-ranks", {"olmo-core", 1, 8, "rank_microbatch_size = 4096\nglobal_batch_size = 40960\n"}},
    {"stages-have-layers", {"olmo-core", 1, 8, "train_module.pp_config.degree = 8\nn_layers = 4\n"}},
    {"batch-fills-devices", {"llm-foundry", 3, 8, "global_train_batch_size = 512\n"}},
    {"heads-divide-width", {"llm-foundry", 1, 8, "d_model = 2048\nn_heads = 24\n"}},
    {"model-axis-divides-devices", {"levanter", 1, 8, "trainer.model_axis_size = 3\n"}},
    {"replicas-divide-data-axis", {"levanter", 1, 8, "trainer.replica_ici_axis_size = 3\n"}},
    {"batch-fills-data-axis",
     {"levanter", 1, 8, "trainer.train_batch_size = 24\ntrainer.per_device_parallelism = 2\n"}},
    {"degrees-fill-devices", {"colossalai", 1, 8, "tp = 3\n"}},
    {"zero-stage-in-pipeline", {"colossalai", 1, 8, "pp = 2\nzero = 2\n"}},
    {"chunks-of-a-schedule", {"colossalai", 1, 8, "pp = 2\nn_chunks = 2\n"}},
    {"micro-batches-fill-batch", {"colossalai", 1, 8, "pp = 2\nbatch_size = 3\nmbs = 2\n"}},
    {"split-sequences-with-tensor-parallelism", {"colossalai", 1, 8, "sp = 2\nsp_mode = \"ring\"\n"}},
    {"batch-fills-ranks", {"olmo", 1, 8, "global_train_batch_size = 12\n"}},
    {"embedding-holds-vocabulary", {"olmo", 1, 8, "vocab_size = 50280\nmodel.embedding_size = 50176\n"}},
    {"one-kind-of-positions", {"olmo", 1, 8, "model.alibi = true\nmodel.rope = true\n"}},
    {"layers-fill-groups", {"olmo", 1, 8, "n_layers = 16\nblock_group_size = 3\n"}},
    {"replicas-divide-nodes", {"olmo", 2, 8, "fsdp.hybrid_sharding_num_model_replicas = 3\n"}},
    {"sequence-divides-by-cp", {"picotron", 1, 8, "cp_size = 8\nseq_len = 1004\n"}},
    {"kv-heads-divide-by-tp", {"picotron", 1, 8, "tp_size = 8\nnum_key_value_heads = 4\n"}},
    {"vocabulary-divides-by-tp", {"picotron", 1, 8, "tp_size = 8\nvocab_size = 50257\n"}},
    {"world-size", {"picotron", 1, 8, "tp_size = 2\ndp_size = 2\n"}},
    {"world-size", {"maxtext", 1, 8, "ici_fsdp_parallelism = 4\n"}},
    {"world-size", {"maxtext", 1, 8, "ici_tensor_parallelism = 3\n"}},
    {"world-size",
     {"maxtext", 1, 8, "ici_fsdp_parallelism = 4\nici_tensor_parallelism = 2\ndcn_data_parallelism = 2\n"}},
    {"one-axis-is-left-over", {"maxtext", 1, 8, "ici_data_parallelism = -1\n"}},
    {"batch-divides-ranks",
     {"maxtext", 1, 8, "ici_fsdp_parallelism = -1\nper_device_batch_size = 1.5\nici_expert_parallelism = 8\n"}},
    {"micro-batches-fill-pipeline", {"maxtext", 1, 8, "ici_pipeline_parallelism = 4\nnum_pipeline_microbatches = 6\n"}},
    {"micro-batches-fill-pipeline",
     {"maxtext", 1, 8,
      "ici_pipeline_parallelism = 4\nnum_pipeline_microbatches = 4\npipeline_delay_activation_forwarding = true\n"}},
    {"layers-fill-stages", {"maxtext", 1, 8, "ici_pipeline_parallelism = 4\nbase_num_decoder_layers = 22\n"}},
    {"layers-fill-stages", {"maxtext", 1, 8, "ici_pipeline_parallelism = 4\nnum_pipeline_repeats = 3\n"}},
    {"kv-heads-divide-heads",
     {"maxtext", 1, 8, "base_num_query_heads = 32\nbase_num_kv_heads = 4\nici_tensor_parallelism = 8\n"}},
    {"hidden-divides-by-heads", {"gpt-neox", 1, 8, "hidden_size = 2048\nnum_attention_heads = 12\n"}},
    {"kv-heads-divide-by-tp",
     {"gpt-neox", 1, 8, "model_parallel_size = 4\nnum_attention_heads = 32\nnum_kv_heads = 2\n"}},
    {"world-size", {"gpt-neox", 1, 8, "pipe_parallel_size = 3\n"}},
    {"sequence-divides-in-releases", {"torchtitan", 1, 2, "tensor_parallel_degree = 2\nseq_len = 8190\n"}},
    {"vpp-needs-pp", {"megatron", 1, 8, "pp = 1\nvpp = 2\n"}},
    {"interleaved-micro-batches", {"megatron", 1, 8, "pp = 4\nvpp = 3\nmicro_batches = 5\n"}},
    {"expert-tensor-degree",
     {"megatron", 1, 8, "tp = 4\npp = 2\nep = 4\nnum_moe_experts = 256\nsequence_parallel = true\n"}},
    {"world-size", {"torchtitan", 1, 8, "dp_replicate = 3\ndp_shard = -1\ntp = 2\n"}},
    {"sequence-divides-by-tp-and-cp", {"torchtitan", 1, 8, "dp_shard = 4\ncp = 2\nseq = 1022\n"}},
    {"sequence-divides-by-tp-and-cp",
     {"torchtitan", 1, 8, "tp = 8\nnum_tokens_per_microbatch_per_dp_rank = 1020\nmax_context_length = 2048\n"}},
    {"layers-fill-stages", {"torchtitan", 1, 8, "pp = 4\nlayers = 32\npipeline_parallel_layers_per_stage = 6\n"}},
    {"experts-borrow-ranks", {"torchtitan", 2, 8, "dp_replicate = 4\ndp_shard = 4\nep = 8\nexperts = 16\n"}},
    {"world-size", {"hf-trainer", 1, 8, "dp_shard_size = 4\ntensor_parallel_size = 4\n"}},
};

/* Ends the test unless it breaks the rule, or no rule that is not a warning. */
static void check_layout(const struct layout *l, const char *rule)
{
    OWNED char *profile = l->profile ? xasprintf("profile = \"%s\"\n", l->profile) : xstrdup("");
    OWNED char *text = xasprintf("%s[cluster_spec]\nnum_hosts = %d\nnum_devices_per_host = %d\n[parallel_spec]\n%s",
                                 profile, l->hosts, l->devices_per_host, l->keys);
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
    for (size_t i = 0; i < LENGTH(ran); i++)
        check_layout(&ran[i], NULL);
    for (size_t i = 0; i < LENGTH(planted); i++)
        check_layout(&planted[i].layout, planted[i].rule);
}

/* Each rule of these profiles has one that it refuses. */
TEST(profiles__every_rule__refuses_a_layout)
{
    static const char *const profiles[] = {"colossalai",  "gpt-neox", "internevo",  "levanter",  "lingua",  "litgpt",
                                           "llm-foundry", "maxtext",  "megatron",   "nanotron",  "nemo-rl", "olmo",
                                           "olmo-core",   "picotron", "torchtitan", "torchtune", "verl"};
    for (size_t i = 0; i < LENGTH(profiles); i++) {
        OWNED char *text = xasprintf("profile = \"%s\"\n[parallel_spec]\nx = 1\n", profiles[i]);
        HELD(built) b = build_text(text);
        for (size_t r = 0; r < b.sweep->rule_count; r++) {
            const char *name = b.sweep->rules[r].name;
            bool found = false;
            for (size_t k = 0; k < LENGTH(planted); k++)
                found |= strcmp(planted[k].rule, name) == 0;
            FAIL_WHERE(!found, "no layout that %s refuses", name);
        }
    }
}
