"""Short trainings of heads for the embedded model, to find what their overlap with the target depends on.

Target, heads and loss are written out in PyTorch; what the target gives is computed once and kept, so that a step costs
only the head. `check` evaluates the committed heads, which has to give the figures of their *.results.json.

    python scripts/probe_tiny_heads.py results/runs/train-tiny/own-images.safetensors check
    python scripts/probe_tiny_heads.py IMAGES train kind=eagle3,taps=2-6-11,steps=400 kind=eagle1,steps=400

IMAGES is the file of images that `specimen train drafter-eagle3 harness/train/tiny.toml` draws. Keys of a probe
and what they are if left out: see PROBE. Needs torch and safetensors.
"""

import argparse
import json
import math
import time
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn import functional as F

WEIGHTS = Path(__file__).resolve().parents[1] / "harness/models/weights/tiny"
D, HEADS, D_HEAD, PREFIX, SIDE, N, VOCAB, EPS, NULL = 160, 2, 80, 20, 16, 256, 1024, 1e-5, 1
# Streams that are kept: as they enter these layers; 12 is what leaves the last one, before the norm.
KEPT = [2, 4, 6, 8, 9, 11, 12]
HELD_OUT = 32

PROBE = {
    "kind": "eagle3", "taps": "2-6-9", "depth": 1, "decay": 0.8, "steps": 400, "batch": 4, "lr": 1.5e-3, "warmup": 50,
    "weight_decay": 0.05, "rows": 0.5, "guided": 1.0, "hard": 0.0, "feature": 0.0, "ffn": 432, "layers": 1,
    "noise": 0.0, "images": 1024, "measure": 1, "from": "", "seed": 1,
}


def rms(x, weight):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * weight


def rotary():
    """Cosines and sines of all slots, [PREFIX + N, D_HEAD]; the prefix is not turned."""
    cells = torch.arange(N)
    frequencies = 1000.0 ** (-torch.arange(D_HEAD // 4) / (D_HEAD // 4))
    angles = torch.cat([(cells // SIDE)[:, None] * frequencies, (cells % SIDE)[:, None] * frequencies], 1)
    angles = torch.cat([torch.zeros(PREFIX, D_HEAD // 2), angles]).repeat(1, 2)
    return angles.cos(), angles.sin()


def project(read, qkv, turns):
    """Queries, keys and values, [rows, HEADS, n, D_HEAD]."""
    rows, n, _ = read.shape
    q, k, v = (read @ qkv.T).view(rows, n, 3, HEADS, D_HEAD).permute(2, 0, 3, 1, 4)
    cos, sin = turns

    def turned(x):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    return turned(q), turned(k), v


def finish(w, stem, x, context):
    x = x + context.transpose(1, 2).flatten(2) @ w[f"{stem}attention.out.weight"].T
    gate, up = (rms(x, w[f"{stem}ffn_norm.weight"]) @ w[f"{stem}ffn.gate_up.weight"].T).chunk(2, -1)
    return x + (F.silu(gate) * up) @ w[f"{stem}ffn.down.weight"].T


def whole_layer(w, stem, x, turns):
    q, k, v = project(rms(x, w[f"{stem}attention_norm.weight"]), w[f"{stem}attention.qkv.weight"], turns)
    return finish(w, stem, x, F.scaled_dot_product_attention(q, k, v, is_causal=True))


class Target:
    def __init__(self):
        self.w = {name: tensor.float() for name, tensor in load_file(WEIGHTS / "target.safetensors").items()}
        self.turns = rotary()

    def streams(self, captions, tokens):
        """Of both rows of each image, the one with the caption first: [b, 2, len(KEPT), N, D] in bf16."""
        words = torch.stack([captions, torch.full_like(captions, NULL)], 1).flatten(0, 1)
        fed = tokens.repeat_interleave(2, 0)[:, : N - 1]
        x = torch.cat([self.w["words.weight"][words] + self.w["slots.weight"], self.w["tokens.weight"][fed]], 1)
        turns = [table[: x.shape[1]] for table in self.turns]
        kept = []
        for layer in range(12):
            if layer in KEPT:
                kept.append(x[:, PREFIX - 1 :])
            x = whole_layer(self.w, f"layers.{layer}.", x, turns)
        kept.append(x[:, PREFIX - 1 :])
        return torch.stack(kept, 1).unflatten(0, (-1, 2)).bfloat16()


def of_images(target, path, n):
    """Tokens of the first images and the streams of the target on them, kept in a file beside them."""
    file = load_file(path)
    tokens, captions = file["tokens"][:n], file["captions"][:n]
    cache = path.with_suffix(f".{n}.streams.pt")
    if cache.exists():
        return tokens, torch.load(cache, mmap=True)
    with torch.no_grad():
        batches = [target.streams(captions[at : at + 8], tokens[at : at + 8]) for at in range(0, n, 8)]
    torch.save(torch.cat(batches), cache)
    return tokens, torch.load(cache, mmap=True)


class Head:
    """A head of either kind; `w` is named as its file."""

    def __init__(self, target, probe, w=None):
        self.target, self.eagle3, self.layers = target, probe["kind"] == "eagle3", probe["layers"]
        self.taps = [KEPT.index(int(tap)) for tap in probe["taps"].split("-")]
        self.w = w or self.fresh(probe)

    def fresh(self, probe):
        generator = torch.Generator().manual_seed(probe["seed"])
        ffn, w = probe["ffn"], {}

        def normal(name, *shape, std=None):
            w[name] = torch.randn(*shape, generator=generator) * (std or shape[-1] ** -0.5)

        def layer(stem, width):
            normal(f"{stem}attention.qkv.weight", 3 * D, width)
            normal(f"{stem}attention.out.weight", D, D, std=D**-0.5 / math.sqrt(2))
            normal(f"{stem}ffn.gate_up.weight", 2 * ffn, D)
            normal(f"{stem}ffn.down.weight", D, ffn, std=ffn**-0.5 / math.sqrt(2))
            w[f"{stem}ffn_norm.weight"] = torch.ones(D)

        normal("fc.weight", D, len(self.taps) * D if self.eagle3 else 2 * D)
        if self.eagle3:
            layer("midlayer.", 2 * D)
            w["midlayer.input_layernorm.weight"], w["midlayer.hidden_norm.weight"] = torch.ones(D), torch.ones(D)
            w["norm.weight"] = self.target.w["norm.weight"].clone()
            w["lm_head.weight"] = self.target.w["head.weight"].clone()
        else:
            layer("layers.0.", D)
            w["layers.0.attention_norm.weight"], w["norm.weight"] = torch.ones(D), torch.ones(D)
        for more in range(1, self.layers):
            layer(f"more.{more}.", D)
            w[f"more.{more}.attention_norm.weight"] = torch.ones(D)
        return w

    def admit(self, streams):
        """`streams`: [r, len(KEPT), N, D]."""
        if self.eagle3:
            return torch.cat([streams[:, tap] for tap in self.taps], -1) @ self.w["fc.weight"].T
        return rms(streams[:, -1], self.target.w["norm.weight"])

    def predict(self, embeddings, features, turns, past):
        """Predicted features of one depth; `past`: keys and values of the depths before, which it joins."""
        w, stem = self.w, "midlayer." if self.eagle3 else "layers.0."
        if self.eagle3:
            normed = rms(embeddings, w["midlayer.input_layernorm.weight"])
            x, read = features, torch.cat([normed, rms(features, w["midlayer.hidden_norm.weight"])], -1)
        else:
            x = torch.cat([embeddings, features], -1) @ w["fc.weight"].T
            read = rms(x, w["layers.0.attention_norm.weight"])
        q, key, value = project(read, w[f"{stem}attention.qkv.weight"], turns)
        past.append((key, value))
        m = q.shape[2]
        scores = q @ past[0][0][:, :, :m].transpose(2, 3) + torch.full((m, m), -torch.inf).triu(1)
        along = [(q * key[:, :, :m]).sum(-1, keepdim=True) for key, _ in past[1:]]
        weights = (torch.cat([scores, *along], -1) / D_HEAD**0.5).softmax(-1)
        context = weights[..., :m] @ past[0][1][:, :, :m]
        for at, (_, value) in enumerate(past[1:]):
            context = context + weights[..., m + at : m + at + 1] * value[:, :, :m]
        x = finish(w, stem, x, context)
        for more in range(1, self.layers):
            assert len(past) == 1, "heads of several layers are probed at depth 1"
            x = whole_layer(w, f"more.{more}.", x, turns)
        return x if self.eagle3 else rms(x, w["norm.weight"])

    def unrolled(self, tokens, streams, depth, noise=0.0):
        """Predicted features by depth, [r, N - depth, D]."""
        features = self.admit(streams)
        if noise:
            features = features + (torch.rand_like(features) * 2 - 1) * noise
        embeddings = self.target.w["tokens.weight"][tokens]
        past, found = [], []
        for k in range(depth):
            m = N - k
            turns = [table[PREFIX + k : PREFIX + N] for table in self.target.turns]
            out = self.predict(embeddings[:, k:], features, turns, past)
            found.append(out[:, : m - 1])
            features = out[:, : m - 1]
        return found

    def logits(self, predicted):
        if self.eagle3:
            return rms(predicted, self.w["norm.weight"]) @ self.w["lm_head.weight"].T
        return predicted @ self.target.w["head.weight"].T


def guided(logits, scale=3.0):
    """[2 b, n, VOCAB], rows of an image side by side, to [b, n, VOCAB]."""
    rows = logits.unflatten(0, (-1, 2))
    return rows[:, 1] + (rows[:, 0] - rows[:, 1]) * scale


def overlap(logits, aims):
    return torch.minimum(logits.softmax(-1), aims).sum(-1)


def batch_of(target, tokens, streams, index):
    tokens, streams = tokens[index].repeat_interleave(2, 0), streams[index].flatten(0, 1).float()
    features = rms(streams[:, -1], target.w["norm.weight"])
    return tokens, streams, features, features @ target.w["head.weight"].T


def soft(aims, logits):
    return -(aims * logits.log_softmax(-1)).sum(-1).mean()


def loss_of(head, batch, probe):
    tokens, streams, features, aims = batch
    rows_aims, guided_aims = aims.softmax(-1), guided(aims).softmax(-1)
    total, seen = 0.0, 0.0
    for k, predicted in enumerate(head.unrolled(tokens, streams, probe["depth"], probe["noise"])):
        logits = head.logits(predicted)
        of_guided = guided(logits)
        of_depth = soft(rows_aims[:, k + 1 :], logits) * probe["rows"]
        if probe["guided"]:
            of_depth = of_depth + soft(guided_aims[:, k + 1 :], of_guided) * probe["guided"]
        if probe["feature"]:
            of_depth = of_depth + F.smooth_l1_loss(predicted, features[:, k + 1 :]) * probe["feature"]
        if probe["hard"]:
            own = F.cross_entropy(logits.flatten(0, 1), tokens[:, k + 1 :].flatten())
            of_depth = of_depth + own * probe["hard"]
        total = total + of_depth * probe["decay"] ** k
        if k == 0:
            seen = overlap(of_guided.detach(), guided_aims[:, 1:]).mean().item()
    return total, seen


@torch.no_grad()
def measure(head, target, images, index, depth):
    """Overlap by depth of the guided distributions, and at the first depth that of the rows alone, of guidance 1 to 7,
    and by the row of the picture."""
    tokens, streams = images
    sums = {}

    def add(name, value):
        sums[name] = sums.get(name, 0.0) + value.mean().item() * len(chunk) / len(index)

    for chunk in torch.tensor(index).split(8):
        of_chunk, of_streams, _, aims = batch_of(target, tokens, streams, chunk)
        for k, predicted in enumerate(head.unrolled(of_chunk, of_streams, depth)):
            logits, later = head.logits(predicted), aims[:, k + 1 :]
            found = overlap(guided(logits), guided(later).softmax(-1))
            add(f"depth{k + 1}", found)
            if k > 0:
                continue
            for scale in [1.0, 2.0, 5.0, 7.0]:
                add(f"guidance{scale:.0f}", overlap(guided(logits, scale), guided(later, scale).softmax(-1)))
            add("null", overlap(logits[1::2], later[1::2].softmax(-1)))
            by_row = F.pad(found, (1, 0)).unflatten(-1, (SIDE, SIDE))
            for row in [1, 4, 8, 12, 15]:
                add(f"row{row}", by_row[:, row])
            same_place = torch.minimum(guided(aims[:, :-1]).softmax(-1), guided(later).softmax(-1)).sum(-1)
            add("of_the_slot_before", same_place)
    return sums


def shown(values):
    return "  ".join(f"{name} {value:.4f}" for name, value in values.items())


def parse(text):
    probe = dict(PROBE)
    for pair in text.split(","):
        name, value = pair.split("=")
        probe[name] = type(PROBE[name])(value)
    return probe


def rate(probe, step):
    if step < probe["warmup"]:
        return probe["lr"] * (step + 1) / probe["warmup"]
    done = (step - probe["warmup"]) / max(probe["steps"] - probe["warmup"], 1)
    return probe["lr"] * (0.02 + 0.49 * (1 + math.cos(math.pi * done)))


def train(target, images, probe):
    w = {name: tensor.float() for name, tensor in load_file(probe["from"]).items()} if probe["from"] else None
    head = Head(target, probe, w)
    torch.manual_seed(probe["seed"])
    matrices = [w.requires_grad_() for w in head.w.values() if w.dim() > 1]
    vectors = [w.requires_grad_() for w in head.w.values() if w.dim() == 1]
    groups = [{"params": matrices, "weight_decay": probe["weight_decay"]}, {"params": vectors, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8)
    order, began, seen = [], time.monotonic(), []
    for step in range(probe["steps"]):
        if len(order) < probe["batch"]:
            order = (torch.randperm(probe["images"]) + HELD_OUT).tolist()
        index, order = order[: probe["batch"]], order[probe["batch"] :]
        loss, overlap_of_step = loss_of(head, batch_of(target, *images, torch.tensor(index)), probe)
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(matrices + vectors, 1.0)
        for group in adam.param_groups:
            group["lr"] = rate(probe, step)
        adam.step()
        seen.append(overlap_of_step)
        if (step + 1) % 100 == 0:
            mean = sum(seen[-100:]) / 100
            print(f"  step {step + 1}  overlap {mean:.4f}  {time.monotonic() - began:.0f} s", flush=True)
    n_parameters = sum(tensor.numel() for tensor in head.w.values())
    print(f"  {n_parameters} parameters, {time.process_time():.0f} s of processor time so far")
    return head


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("images", type=Path)
    parser.add_argument("what", choices=["check", "train"])
    parser.add_argument("probes", nargs="*")
    parser.add_argument("--n", type=int, default=1056, help="images of the file that are used")
    args = parser.parse_args()
    torch.set_num_threads(1)
    target = Target()
    images = of_images(target, args.images, args.n)
    held_out, known = list(range(HELD_OUT)), list(range(HELD_OUT, 2 * HELD_OUT))
    if args.what == "check":
        for name, kind, depth in [
            ("drafter", "eagle1", 3), ("drafter-further", "eagle1", 3), ("drafter-eagle3", "eagle3", 4),
        ]:
            w = {key: tensor.float() for key, tensor in load_file(WEIGHTS / f"{name}.safetensors").items()}
            taps = json.loads((WEIGHTS / f"{name}.json").read_text()).get("taps", [12])
            head = Head(target, PROBE | {"kind": kind, "taps": "-".join(map(str, taps))}, w)
            results = json.loads((WEIGHTS / f"{name}.results.json").read_text())
            print(f"{name}: published {results['overlap_depth1']} at depth 1")
            print("  held out   " + shown(measure(head, target, images, held_out, depth)))
            print("  trained on " + shown(measure(head, target, images, known, depth)), flush=True)
    for text in args.probes:
        probe = parse(text)
        print(text, flush=True)
        head = train(target, images, probe)
        print("  held out   " + shown(measure(head, target, images, held_out, probe["measure"])))
        print("  trained on " + shown(measure(head, target, images, known, probe["measure"])), flush=True)


if __name__ == "__main__":
    main()
