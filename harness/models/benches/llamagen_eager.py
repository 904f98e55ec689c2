"""The LlamaGen networks of `llamagen/` in eager PyTorch: both guidance rows in one batch, a preallocated cache, fused qkv
and gate-up products, the law of the root on the host. One thread; medians over the image.

    python llamagen_eager.py [f32|bf16]

With `answer` behind that it takes questions, one a line, so that the bench can time it in turns with itself.
"""

import sys
import time

import torch
import torch.nn.functional as F

torch.set_grad_enabled(False)
torch.set_num_threads(1)
KIND = torch.bfloat16 if "bf16" in sys.argv else torch.float32
GRID, SLOTS, CAPTION, N_NODES = 16, 120, 64, 26
N = GRID * GRID


def ramp(*shape):
    n = 1
    for side in shape:
        n *= side
    return ((torch.arange(n, dtype=torch.float32) % 997 / 997 - 0.5).view(shape) * 0.04)


class Network:
    def __init__(self, layers, heads, d, ffn, vocab):
        self.heads, self.d, self.d_head, self.vocab = heads, d, d // heads, vocab
        matrix = lambda *shape: ramp(*shape).to(KIND)
        ones = torch.ones(d, dtype=KIND)
        self.layers = [
            (matrix(3 * d, d), matrix(d, d), matrix(2 * ffn, d), matrix(d, ffn), ones, ones) for _ in range(layers)
        ]
        for at, (qkv, out, gate_up, down, *norms) in enumerate(self.layers):
            # The file has gate and up apart, each a ramp of its own.
            self.layers[at] = (qkv, out, torch.cat([matrix(ffn, d), matrix(ffn, d)]), down, *norms)
        self.tokens, self.head, self.norm = matrix(vocab, d), matrix(vocab, d), ones
        self.fc1, self.fc2, self.nothing = matrix(d, CAPTION), matrix(d, d), matrix(SLOTS, CAPTION)
        self.keys = torch.zeros(layers, 2, heads, SLOTS + N + N_NODES, self.d_head, dtype=KIND)
        self.values = torch.zeros_like(self.keys)
        frequencies = 10000.0 ** (-torch.arange(self.d_head // 4) / (self.d_head // 4))
        cells = torch.arange(N)
        angles = torch.cat([(cells // GRID)[:, None] * frequencies, (cells % GRID)[:, None] * frequencies], 1)
        turns = torch.polar(torch.ones_like(angles), angles)
        self.turns = torch.cat([torch.zeros(SLOTS, self.d_head // 2, dtype=torch.complex64), turns])

    def turn(self, x, turns):
        pairs = torch.view_as_complex(x.float().view(*x.shape[:3], self.d_head // 2, 2))
        return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)

    def forward(self, x, start, is_prefill=False):
        n = x.shape[1]
        turns = self.turns[start : start + n]
        for at, (qkv, out, gate_up, down, norm1, norm2) in enumerate(self.layers):
            projected = F.linear(F.rms_norm(x, (self.d,), norm1, 1e-5), qkv)
            q, k, v = projected.view(2, n, 3, self.heads, self.d_head).permute(2, 0, 3, 1, 4)
            self.keys[at, :, :, start : start + n] = self.turn(k, turns)
            self.values[at, :, :, start : start + n] = v
            seen = start + n
            keys, values = self.keys[at, :, :, :seen], self.values[at, :, :, :seen]
            context = F.scaled_dot_product_attention(self.turn(q, turns), keys, values, is_causal=is_prefill)
            x = x + F.linear(context.transpose(1, 2).reshape(2, n, self.d), out)
            gate, up = F.linear(F.rms_norm(x, (self.d,), norm2, 1e-5), gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, down)
        logits = F.linear(F.rms_norm(x[:, -1], (self.d,), self.norm, 1e-5), self.head).float()
        logits = logits[1] + 4.0 * (logits[0] - logits[1])
        kth = logits.topk(self.vocab // 8, -1).values[-1:]
        return logits.masked_fill(logits < kth, -float("inf")).softmax(-1).numpy()

    def prefill(self):
        rows = torch.stack([(ramp(SLOTS, CAPTION) * 25.0).to(KIND), self.nothing])
        x = F.linear(F.gelu(F.linear(rows, self.fc1), approximate="tanh"), self.fc2)
        started = time.perf_counter()
        law = self.forward(x, 0, is_prefill=True)
        return law, (time.perf_counter() - started) * 1e3

    def step(self, token, position):
        return self.forward(self.tokens[token].expand(2, 1, self.d), position)


SIZES = {"toy": (2, 2, 32, 48, 64), "GPT-B": (12, 12, 768, 2048, 16384)}


def steps(network, start, n):
    """Milliseconds of each of the steps at the image positions `start` to `start + n`."""
    times = []
    for position in range(start, start + n):
        token = position * 61 % network.vocab
        started = time.perf_counter()
        network.step(token, SLOTS + position - 1)
        times.append((time.perf_counter() - started) * 1e3)
    return times


def median(values):
    return sorted(values)[len(values) // 2]


def answer():
    for line in sys.stdin:
        match line.split():
            case ["open", name]:
                network = Network(*SIZES[name])
                law, _ = network.prefill()
                print(*law.flatten().tolist(), flush=True)
            case ["prefill"]:
                print(network.prefill()[1], flush=True)
            case ["steps", start, n]:
                print(*steps(network, int(start), int(n)), flush=True)


def show():
    print(f"{KIND}, ms   prefill      step")
    for name, sizes in SIZES.items():
        network = Network(*sizes)
        prefills = [network.prefill() for _ in range(9)]
        law = prefills[0][0]
        prefill = median([ms for _, ms in prefills])
        step = median(steps(network, 1, N - 1))
        print(f"{name:6} {prefill:9.3f} {step:9.3f}   first law: token {law.argmax()} has {law.max():.6f}")


if __name__ == "__main__":
    answer() if "answer" in sys.argv else show()
