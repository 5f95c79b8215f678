"""`mlp_infer`: batched inference of a small MLP, host memory to host memory.

y = W_L·relu(… relu(W_1·x + b_1) …) + b_L, in float32 or entirely in float16 (dtype f16: inputs and
weights are the float32 ones rounded to nearest). The modes are common ways to run such a model,
from the published study's to the fastest that PyTorch offers (`docs/pytorch.md`):

eager            As in the study: every sample builds the model (phase `init`), autograd is on, and
                 input and output are pageable tensors.
inference        Under `torch.inference_mode`, with the model built once. On a GPU the input is in
                 pinned memory, device input and pinned output are allocated once, and copies do not
                 block.
compile          `inference` with `torch.compile(mode="max-autotune", fullgraph=True)`; on a GPU
                 this mode uses CUDA graphs.
graph            `inference` captured by hand in CUDA graphs with static tensors: one of the forward
                 pass for the phases, and one that includes both copies for `host_to_host`, which is
                 one replay and one synchronisation. The caller owns the pinned input; filling it is
                 not part of the sample.
compile_graph    `graph` with a forward pass that the compiler fuses into one kernel if the layers
                 are small: products and sums instead of matrix products.
overlap          `graph`, whose second graph copies and computes in chunks on three streams, so that
                 copies in both directions and computation overlap.
compile_overlap  `overlap` with the forward pass of `compile_graph`.
mapped           The forward pass of `compile_graph` on pinned host memory that the GPU reads and
                 writes over the bus, in one graph without copies. The host fills the output with
                 random NaNs, others for each run, and polls until every element has changed.

Phases on a GPU: (`init`), `h2d`, `forward`, `d2h`, each ended by a synchronisation, `total`,
`residual`; `host_to_host`, with only the last synchronisation and without `init`;
`forward_device`, the forward pass between two CUDA events; modes that capture also `forward_graph`,
one of many forward passes in a graph. On the CPU and in `mapped` there are no
copies: (`init`), `forward`, `total`, `residual`, `host_to_host`.
"""

from __future__ import annotations

import torch

from device import Device
from mlp_infer_cases import Compiled, Eager, Inference, MlpInputs
from mlp_infer_graphs import CompiledGraph, CompiledOverlap, Graph, Mapped, Overlap
from mlp_weights import Params
from protocol import CaseSpec
from timing import Mark
from workload import expect_dtype

DTYPES = {"f32": torch.float32, "f16": torch.float16}

MODES: dict[str, type[Eager]] = {
    "eager": Eager,
    "inference": Inference,
    "compile": Compiled,
    "graph": Graph,
    "compile_graph": CompiledGraph,
    "overlap": Overlap,
    "compile_overlap": CompiledOverlap,
    "mapped": Mapped,
}


class MlpInfer:
    """The workload; implements `workload.Workload`."""

    modes = tuple(MODES)

    def make_inputs(self, spec: CaseSpec, seed: int) -> MlpInputs:
        """Return the data of a case with these parameters and dtype."""
        expect_dtype(spec, DTYPES, on_cpu=DTYPES)
        return MlpInputs(*Params.of(spec), seed=seed, dtype=DTYPES[spec.dtype])

    def open(self, spec: CaseSpec, inputs: MlpInputs, device: Device, mark: Mark) -> Eager:
        """Build a case."""
        return MODES[spec.variant](inputs, device, mark)
