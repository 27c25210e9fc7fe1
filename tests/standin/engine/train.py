"""Trains a small model on random data with DeepSpeed's own engine, on CPUs."""

import argparse
import gloo_collectives
import torch

gloo_collectives.install()
import deepspeed  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--local_rank", type=int, default=-1)
deepspeed.add_config_arguments(parser)
arguments = parser.parse_args()
torch.manual_seed(1)
torch.set_num_threads(1)
gloo_collectives.without_compiling()
deepspeed.init_distributed(dist_backend="gloo")
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(4)])
engine, *_ = deepspeed.initialize(args=arguments, model=model, model_parameters=model.parameters())
for _ in range(arguments.steps * engine.gradient_accumulation_steps()):
    batch = torch.randn(engine.train_micro_batch_size_per_gpu(), 64)
    loss = engine(batch).pow(2).mean()
    engine.backward(loss)
    engine.step()
print("trained", engine.global_steps, "steps")
