#!/usr/bin/env python3
"""Trains a small GPT on bytes with PyTorch, the way such scripts are usually written, to be swept over.

    python3 -m torch.distributed.run --nproc_per_node=2 scripts/train_torch.py --zero-stage=1 --micro-batch=4 ...

ZeRO stages: 0 is DistributedDataParallel, 1 adds ZeroRedundancyOptimizer, 2 and 3 are FullyShardedDataParallel with
SHARD_GRAD_OP and FULL_SHARD. Every stage and every split of the global batch trains on the same samples in the same
order, so their losses agree up to rounding.

It prints one line a step, and where MESHSWEEP_METRICS is set its first rank appends JSON lines to that file: step, loss,
step_time (seconds of one optimizer step, all micro-batches of it), throughput (samples/s of all ranks) and
tokens_per_second for each step; at the end peak_memory_bytes (CUDA: allocated; CPU: resident; of the rank that
has most), reserved_memory_bytes (CUDA) and parameters.

Works with PyTorch 1.13 and later, on CUDA (NCCL) or the CPU (gloo). Exit status 2: these options do not go together
here, with the reason on standard error.
"""
import argparse
import contextlib
import functools
import json
import math
import os
import resource
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint

TORCH = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2] if part.isdigit())
VOCAB = 256
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def refuse(why):
    print(f"train_torch.py: {why}", file=sys.stderr)
    sys.exit(2)


def switch(text):
    """true or false, as a sweep's placeholder writes it."""
    if text.lower() not in ("0", "1", "true", "false"):
        raise argparse.ArgumentTypeError(f"{text} is neither true nor false")
    return text.lower() in ("1", "true")


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--seq", type=int, default=64)
    p.add_argument("--steps", type=int, default=8)
    p.add_argument("--micro-batch", type=int, default=4, help="samples of one rank at a time")
    p.add_argument("--global-batch", type=int, default=16, help="samples of a step; the rest is gradient accumulation")
    p.add_argument("--zero-stage", type=int, default=0, choices=(0, 1, 2, 3))
    p.add_argument("--precision", default="fp32", choices=sorted(DTYPES))
    p.add_argument("--activation-checkpointing", type=switch, default=False, metavar="BOOL")
    p.add_argument("--compile", type=switch, default=False, metavar="BOOL")
    p.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    p.add_argument("--device-memory", type=int, default=0, help="bytes of a CUDA device that may be used (0: all)")
    p.add_argument("--data", default="", help="a file whose bytes are trained on; without one they are made up")
    p.add_argument("--learning-rate", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    for name in ("layers", "hidden", "heads", "seq", "steps", "micro_batch", "global_batch"):
        if getattr(a, name) < 1:
            refuse(f"--{name.replace('_', '-')} must be at least 1")
    if a.hidden % a.heads:
        refuse(f"{a.heads} heads do not divide a hidden size of {a.hidden}")
    if a.device == "auto":
        a.device = "cuda" if torch.cuda.is_available() else "cpu"
    return a


def check_support(a, world):
    """What this PyTorch cannot do on this device is said before anything is trained."""
    version = torch.__version__
    if a.global_batch % (a.micro_batch * world):
        refuse(f"a global batch of {a.global_batch} is not a multiple of micro-batch {a.micro_batch} x {world} ranks")
    if a.device == "cuda" and not torch.cuda.is_available():
        refuse(f"PyTorch {version} finds no CUDA device")
    if a.device == "cuda" and torch.cuda.device_count() < int(os.environ.get("LOCAL_WORLD_SIZE", "1")):
        refuse(f"{os.environ['LOCAL_WORLD_SIZE']} ranks and {torch.cuda.device_count()} CUDA devices")
    if a.zero_stage >= 2 and a.device == "cpu" and TORCH < (2, 6):
        refuse(f"ZeRO stage {a.zero_stage} is FullyShardedDataParallel, which PyTorch {version} cannot do on the CPU: "
               "gloo lacks its collectives before 2.6; use stages 0 and 1, or a CUDA device")
    if a.precision == "fp16" and a.device == "cpu":
        refuse("fp16 needs a CUDA device; bf16 and fp32 train on the CPU")
    if a.precision == "bf16" and a.device == "cuda" and not torch.cuda.is_bf16_supported():
        refuse("this CUDA device has no bf16; use fp16 or fp32")
    if a.compile and not hasattr(torch, "compile"):
        refuse(f"PyTorch {version} has no torch.compile (it came with 2.0)")


# --- model ---

class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def attend(self, x):
        b, s, h = x.shape
        q, k, v = (t.view(b, s, self.heads, h // self.heads).transpose(1, 2) for t in self.qkv(x).split(h, dim=2))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
            mask = torch.ones(s, s, dtype=torch.bool, device=x.device).triu(1)
            y = scores.masked_fill(mask, float("-inf")).softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, s, h))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.checkpointing = a.activation_checkpointing
        self.tokens, self.positions = nn.Embedding(VOCAB, a.hidden), nn.Embedding(a.seq, a.hidden)
        self.blocks = nn.ModuleList(Block(a.hidden, a.heads) for _ in range(a.layers))
        self.norm, self.head = nn.LayerNorm(a.hidden), nn.Linear(a.hidden, VOCAB, bias=False)
        self.apply(self.initialise)

    @staticmethod
    def initialise(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.size(1), device=tokens.device))
        for block in self.blocks:
            if self.checkpointing:
                x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        logits = self.head(self.norm(x)).float()
        return F.cross_entropy(logits.view(-1, VOCAB), targets.reshape(-1))


# --- how it is spread over ranks ---

def shard(model, a, device):
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

    dtype = DTYPES[a.precision]
    mixed = None if a.precision == "fp32" else MixedPrecision(param_dtype=dtype, reduce_dtype=dtype, buffer_dtype=dtype)
    extra = {"use_orig_params": True} if TORCH >= (2, 0) else {}
    return FullyShardedDataParallel(
        model,
        sharding_strategy=ShardingStrategy.SHARD_GRAD_OP if a.zero_stage == 2 else ShardingStrategy.FULL_SHARD,
        auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block}),
        mixed_precision=mixed, device_id=device if device.type == "cuda" else None, **extra)


def distribute(model, a, device):
    """The wrapped model and its optimizer."""
    if a.zero_stage >= 2:
        model = shard(model, a, device)
    elif dist.get_world_size() > 1:
        ids = [device.index] if device.type == "cuda" else None
        model = nn.parallel.DistributedDataParallel(model, device_ids=ids)
    if a.zero_stage == 1:
        from torch.distributed.optim import ZeroRedundancyOptimizer
        optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW, lr=a.learning_rate)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=a.learning_rate)
    return (torch.compile(model) if a.compile else model), optimizer


def gradient_scaler(a):
    if a.precision != "fp16":
        return None
    if a.zero_stage >= 2:
        from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
        return ShardedGradScaler()
    return torch.amp.GradScaler(a.device) if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler()


def autocast(a):
    # FSDP casts by itself.
    if a.precision == "fp32" or a.zero_stage >= 2:
        return contextlib.nullcontext()
    return torch.autocast(a.device, dtype=DTYPES[a.precision])


# --- data ---

class Samples:
    """The samples of a step, the same whoever asks: windows of a file, or a made-up language in which a byte mostly
    follows from the one before it."""

    def __init__(self, a):
        self.a, self.text = a, None
        if a.data:
            try:
                with open(a.data, "rb") as file:
                    text = file.read()
            except OSError as e:
                refuse(f"{a.data}: {e.strerror}")
            if len(text) <= a.seq + 1:
                refuse(f"{a.data} has {len(text)} bytes; a sample alone takes {a.seq + 1}")
            self.text = torch.frombuffer(bytearray(text), dtype=torch.uint8)

    def step(self, step):
        a = self.a
        g = torch.Generator().manual_seed(a.seed * 1000003 + step)
        if self.text is not None:
            starts = torch.randint(0, len(self.text) - a.seq, (a.global_batch,), generator=g)
            return torch.stack([self.text[i:i + a.seq + 1] for i in starts.tolist()]).long()
        # Sums of steps of 1 to 7: every byte leaves seven likely successors.
        steps = torch.randint(1, 8, (a.global_batch, a.seq + 1), generator=g)
        return (torch.randint(0, VOCAB, (a.global_batch, 1), generator=g) + steps.cumsum(1)) % VOCAB


# --- training ---

def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def train_step(model, optimizer, scaler, a, samples):
    """One optimizer step over all micro-batches of this rank; its loss, of this rank."""
    world, rank = dist.get_world_size(), dist.get_rank()
    accumulation = a.global_batch // (a.micro_batch * world)
    mine = samples.view(accumulation, world, a.micro_batch, -1)[:, rank]
    total = 0.0
    optimizer.zero_grad(set_to_none=True)
    for i in range(accumulation):
        last = i == accumulation - 1
        # Gradients are summed over ranks once a step; FSDP has to do so each time, since it keeps a share of them only.
        quiet = contextlib.nullcontext() if last or a.zero_stage >= 2 or not hasattr(model, "no_sync") else model.no_sync()
        with quiet:
            with autocast(a):
                loss = model(mine[i, :, :-1], mine[i, :, 1:]) / accumulation
            (scaler.scale(loss) if scaler else loss).backward()
        total = total + loss.detach()
    if scaler:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()
    return total


class Report:
    def __init__(self, a):
        path = os.environ.get("MESHSWEEP_METRICS")
        self.a, self.rank = a, dist.get_rank()
        self.file = open(path, "a", encoding="utf-8") if path and self.rank == 0 else None

    def write(self, **values):
        if self.file:
            self.file.write(json.dumps(values) + "\n")
            self.file.flush()

    def step(self, step, loss, seconds):
        throughput = self.a.global_batch / seconds
        if self.rank == 0:
            print(f"step {step} loss {loss:.4f} step_time {seconds:.6f} s throughput: {throughput:.1f} samples/s",
                  flush=True)
        self.write(step=step, loss=loss, step_time=seconds, throughput=throughput,
                   tokens_per_second=throughput * self.a.seq)


def most_of_ranks(value, device):
    tensor = torch.tensor([float(value)], dtype=torch.float64, device=device)
    dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    return int(tensor.item())


def report_memory(report, device, parameters):
    if device.type == "cuda":
        values = {"peak_memory_bytes": torch.cuda.max_memory_allocated(device),
                  "reserved_memory_bytes": torch.cuda.max_memory_reserved(device)}
    else:
        values = {"peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    values = {name: most_of_ranks(value, device) for name, value in values.items()}
    if dist.get_rank() == 0:
        print(f"parameters {parameters} peak memory {values['peak_memory_bytes'] / 2**20:.1f} MiB", flush=True)
    report.write(parameters=parameters, **values)


def start(a):
    """The rank's device, once it belongs to the group."""
    backend = "nccl" if a.device == "cuda" else "gloo"
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if a.device == "cuda" else torch.device("cpu")
    if a.device == "cuda":
        torch.cuda.set_device(device)
        if a.device_memory:
            total = torch.cuda.get_device_properties(device).total_memory
            torch.cuda.set_per_process_memory_fraction(min(1.0, a.device_memory / total), device)
    if "RANK" in os.environ:
        dist.init_process_group(backend)
    else:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    return device


def finish(a):
    """gloo 1.13 may spin for ever in a rank whose peer has gone first: ranks go together, and without taking it down."""
    if a.device == "cuda":
        dist.destroy_process_group()
        return
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


def main():
    a = parse_arguments()
    check_support(a, int(os.environ.get("WORLD_SIZE", "1")))
    samples = Samples(a)
    device = start(a)
    torch.manual_seed(a.seed)
    model = GPT(a)
    parameters = sum(p.numel() for p in model.parameters())
    model, optimizer = distribute(model.to(device), a, device)
    scaler, report = gradient_scaler(a), Report(a)
    for step in range(a.steps):
        batch = samples.step(step).to(device)
        synchronize(device)
        begin = time.perf_counter()
        loss = train_step(model, optimizer, scaler, a, batch)
        synchronize(device)
        seconds = time.perf_counter() - begin
        dist.all_reduce(loss)
        report.step(step, loss.item() / dist.get_world_size(), seconds)
    report_memory(report, device, parameters)
    finish(a)


if __name__ == "__main__":
    main()
