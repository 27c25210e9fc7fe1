"""What DeepSpeed wants and PyTorch 1.13 with gloo lacks, made of what it has."""

import importlib

import torch
import torch.distributed as dist


class Done:
    """What an asynchronous call returns: there is nothing to wait for."""

    def wait(self):
        return True

    def is_completed(self):
        return True


def reduce_scatter_tensor(output, input, op=dist.ReduceOp.SUM, group=None, async_op=False):
    whole = input.clone()
    dist.all_reduce(whole, op=op, group=group)
    output.copy_(whole.view(-1).chunk(dist.get_world_size(group))[dist.get_rank(group)].view_as(output))
    return Done() if async_op else None


def reduce_scatter(output, input_list, op=dist.ReduceOp.SUM, group=None, async_op=False):
    return reduce_scatter_tensor(output, torch.cat([i.view(-1) for i in input_list]), op, group, async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    parts = [torch.empty_like(input_tensor) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, input_tensor, group=group)
    output_tensor.view(-1).copy_(torch.cat([p.view(-1) for p in parts]))
    return Done() if async_op else None


def install():
    """Before deepspeed is imported, which takes them then."""
    functional = torch.nn.functional
    if not hasattr(functional, "scaled_dot_product_attention"):
        functional.scaled_dot_product_attention = functional._scaled_dot_product_attention
    dist.reduce_scatter = reduce_scatter
    dist.reduce_scatter_tensor = dist._reduce_scatter_base = reduce_scatter_tensor
    dist.all_gather_into_tensor = dist._all_gather_base = all_gather_into_tensor


def without_compiling():
    """After it was: its all-reduce in shared memory is C++ that it would compile."""
    importlib.import_module("deepspeed.comm.torch").build_shm_op = lambda: None
