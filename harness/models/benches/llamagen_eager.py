"""The step of `llamagen.rs` in eager PyTorch: GPT-B of LlamaGen, both guidance rows in one batch, a preallocated cache,
fused qkv and gate-up products, the law of the root on the host. One thread; medians over the image.

    python llamagen_eager.py [f32|bf16]
"""

import sys
import time

import torch
import torch.nn.functional as F

torch.set_grad_enabled(False)
torch.set_num_threads(1)
KIND = torch.bfloat16 if "bf16" in sys.argv else torch.float32
LAYERS, HEADS, D, FFN, VOCAB, GRID, SLOTS = 12, 12, 768, 2048, 16384, 16, 1
HEAD, N = D // HEADS, GRID * GRID


def matrix(*shape):
    n = 1
    for side in shape:
        n *= side
    return ((torch.arange(n) % 997 / 997 - 0.5) * 0.04).view(shape).to(KIND)


layers = [
    (matrix(3 * D, D), matrix(D, D), matrix(2 * FFN, D), matrix(D, FFN), torch.ones(D, dtype=KIND),
     torch.ones(D, dtype=KIND))
    for _ in range(LAYERS)
]
tokens, head, norm = matrix(VOCAB, D), matrix(VOCAB, D), torch.ones(D, dtype=KIND)
keys = torch.zeros(LAYERS, 2, HEADS, N + SLOTS + 1, HEAD, dtype=KIND)
values = torch.zeros_like(keys)

frequencies = 10000.0 ** (-torch.arange(HEAD // 4) / (HEAD // 4))
cells = torch.arange(N)
angles = torch.cat([(cells // GRID)[:, None] * frequencies, (cells % GRID)[:, None] * frequencies], 1)
turns = torch.cat([torch.zeros(SLOTS, HEAD // 2, dtype=torch.complex64), torch.polar(torch.ones_like(angles), angles)])


def turn(x, position):
    pairs = torch.view_as_complex(x.float().view(2, HEADS, 1, HEAD // 2, 2))
    return torch.view_as_real(pairs * turns[position]).flatten(-2).to(x.dtype)


def step(token, position):
    x = tokens[token].expand(2, 1, D)
    for at, (qkv, out, gate_up, down, norm1, norm2) in enumerate(layers):
        q, k, v = F.linear(F.rms_norm(x, (D,), norm1, 1e-5), qkv).view(2, 1, 3, HEADS, HEAD).permute(2, 0, 3, 1, 4)
        keys[at, :, :, position] = turn(k, position)[:, :, 0]
        values[at, :, :, position] = v[:, :, 0]
        seen = position + 1
        context = F.scaled_dot_product_attention(turn(q, position), keys[at, :, :, :seen], values[at, :, :, :seen])
        x = x + F.linear(context.transpose(1, 2).reshape(2, 1, D), out)
        gate, up = F.linear(F.rms_norm(x, (D,), norm2, 1e-5), gate_up).chunk(2, -1)
        x = x + F.linear(F.silu(gate) * up, down)
    logits = F.linear(F.rms_norm(x, (D,), norm, 1e-5), head).float()
    logits = logits[1] + 4.0 * (logits[0] - logits[1])
    logits = logits.masked_fill(logits < logits.topk(2000, -1).values[..., -1:], -float("inf"))
    return logits.softmax(-1).numpy()


times = []
for position in range(SLOTS, N):
    started = time.perf_counter()
    step(position * 61 % VOCAB, position)
    times.append((time.perf_counter() - started) * 1e3)
print(f"step          {sorted(times)[len(times) // 2]:8.2f} ms")
