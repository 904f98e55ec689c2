"""Golden losses and gradients of draft heads: every head and every loss written out in PyTorch from the equations of the
papers, in f64, and differentiated by PyTorch. Weights and inputs are random and are stored beside the gradients.

A draft of depth k at slot j is made as in decoding: the head runs over the front and over slots 0 .. j, where the last k
slots have the head's own predictions for features, one after the other. Nothing is shared between drafts.

    python make_gradients.py        writes a file of each head of `main`
"""

import torch
from safetensors.torch import save_file

D, HEADS, FFN, VOCAB, N, FRONT = 16, 2, 24, 20, 10, 3
D_HEAD = D // HEADS
GUIDANCE, EPS, QK_EPS = 3.0, 1e-6, 1e-5
CASCADE = {"c": 2.0, "tau_seq": 0.1}
# Picture codes where the vocabulary has other tokens too, which stand where they are forced and are drawn nowhere.
CODES = 16

# Each head with the losses that it is compared under.
EAGLE1 = {"depth": 1, "decay": 1.0, "feature": 1.0, "rows": 0.1, "guided": 0.0, "hard": 0.0, "cascade": False}
EAGLE3 = {"depth": 7, "decay": 0.8, "feature": 0.0, "rows": 1.0, "guided": 0.0, "hard": 0.0, "cascade": False}
LOSSES = {
    "published1": EAGLE1,
    "cascade1": EAGLE1 | {"cascade": True},
    "all1": EAGLE1 | {"depth": 3, "decay": 0.7, "guided": 0.8, "hard": 0.3, "cascade": True},
    "published3": EAGLE3,
    "cascade3": EAGLE3 | {"cascade": True, "hard": 0.2},
}


def rms(x, weight):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * weight


def turned(x, angles, is_pairs):
    """Rotary positions. `x`: [rows, n, heads, d_head]; `angles`: cosines and sines, [n, d_head / 2] each."""
    cos, sin = (table[None, :, None, :] for table in angles)
    if is_pairs:
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
    a, b = x[..., : D_HEAD // 2], x[..., D_HEAD // 2 :]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def attention(w, stem, read, angles, is_pairs, hidden, qk_norm):
    rows, n, _ = read.shape
    q, k, v = ((read @ w[f"{stem}self_attn.{part}_proj.weight"].T).view(rows, n, -1, D_HEAD) for part in "qkv")
    # Each head of keys and values serves neighbouring heads of queries.
    k, v = (x.repeat_interleave(HEADS // x.shape[2], 2) for x in (k, v))
    if qk_norm:
        def norm(x, part):
            x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + QK_EPS).sqrt()
            return x * w[f"{stem}self_attn.{part}_norm.weight"] + w[f"{stem}self_attn.{part}_norm.bias"]
        q, k = norm(q, "q"), norm(k, "k")
    q, k = turned(q, angles, is_pairs), turned(k, angles, is_pairs)
    scores = torch.einsum("rqhc,rkhc->rhqk", q, k) / D_HEAD**0.5
    scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)
    # Slots of the front that are pads of a row.
    seen = torch.cat([hidden, torch.zeros(rows, n - hidden.shape[1], dtype=torch.bool)], 1)
    is_own = torch.eye(n, dtype=torch.bool)
    scores = scores.masked_fill(seen[:, None, None, :] & ~is_own, -torch.inf)
    context = torch.einsum("rhqk,rkhc->rqhc", scores.softmax(-1), v).reshape(rows, n, D)
    return context @ w[f"{stem}self_attn.o_proj.weight"].T


def feed_forward(w, stem, x):
    gate, up = x @ w[f"{stem}mlp.gate_proj.weight"].T, x @ w[f"{stem}mlp.up_proj.weight"].T
    return (torch.nn.functional.silu(gate) * up) @ w[f"{stem}mlp.down_proj.weight"].T


class Head:
    """A head by its published tensors: `predict` runs whole sequences of pairs of embedding and feature."""

    def __init__(self, kind, is_pairs, qk_norm=False, input_norm=False, kv_heads=HEADS, codes=VOCAB):
        self.kind, self.is_pairs, self.qk_norm, self.input_norm = kind, is_pairs, qk_norm, input_norm
        self.kv_heads, self.codes = kv_heads, codes

    def shapes(self):
        eagle3 = self.kind == "eagle3"
        stem, width = ("midlayer.", 2 * D) if eagle3 else ("layers.0.", D)
        of_keys = self.kv_heads * D_HEAD
        shapes = {f"{stem}self_attn.q_proj.weight": [D, width]}
        shapes |= {f"{stem}self_attn.{part}_proj.weight": [of_keys, width] for part in "kv"}
        shapes |= {f"{stem}self_attn.o_proj.weight": [D, D], f"{stem}mlp.gate_proj.weight": [FFN, D]}
        shapes |= {f"{stem}mlp.up_proj.weight": [FFN, D], f"{stem}mlp.down_proj.weight": [D, FFN]}
        shapes |= {f"{stem}post_attention_layernorm.weight": [D]}
        if eagle3:
            shapes |= {"fc.weight": [D, 3 * D], "midlayer.input_layernorm.weight": [D]}
            shapes |= {"midlayer.hidden_norm.weight": [D], "norm.weight": [D], "lm_head.weight": [self.codes, D]}
        else:
            shapes |= {"fc.weight": [D, 2 * D], "fc.bias": [D]}
        if self.input_norm:
            shapes |= {"layers.0.input_layernorm.weight": [D]}
        if self.qk_norm:
            shapes |= {f"layers.0.self_attn.{p}_norm.{q}": [HEADS, D_HEAD] for p in "qk" for q in ["weight", "bias"]}
        return shapes

    def admit(self, w, read):
        return read @ w["fc.weight"].T if self.kind == "eagle3" else read

    def predict(self, w, embeddings, features, angles, hidden):
        if self.kind == "eagle3":
            stem, x = "midlayer.", features
            normed = rms(embeddings, w["midlayer.input_layernorm.weight"])
            read = torch.cat([normed, rms(features, w["midlayer.hidden_norm.weight"])], -1)
        else:
            stem = "layers.0."
            x = torch.cat([embeddings, features], -1) @ w["fc.weight"].T + w["fc.bias"]
            read = rms(x, w["layers.0.input_layernorm.weight"]) if self.input_norm else x
        x = x + attention(w, stem, read, angles, self.is_pairs, hidden, self.qk_norm)
        return x + feed_forward(w, stem, rms(x, w[f"{stem}post_attention_layernorm.weight"]))

    def logits(self, w, target_head, predicted):
        if self.kind == "eagle3":
            return rms(predicted, w["norm.weight"]) @ w["lm_head.weight"].T
        return predicted @ target_head.T


def drafts(head, w, given, depth):
    """Predictions of every depth, [rows, N - depth, D]: of the drafts that start behind slot r, in row r."""
    admitted, front = head.admit(w, given["read"]), head.admit(w, given["front_read"])
    found = [[] for _ in range(depth)]
    for r in range(N):
        features = torch.cat([front, admitted[:, : r + 1]], 1)
        for k in range(min(depth, N - r)):
            n = features.shape[1]
            embeddings = torch.cat([given["front_embeddings"], given["embeddings"]], 1)[:, :n]
            angles = [given["cos"][:n], given["sin"][:n]]
            last = head.predict(w, embeddings, features, angles, given["hidden"])[:, -1:]
            found[k].append(last)
            features = torch.cat([features, last], 1)
    return [torch.cat(of_depth, 1) for of_depth in found]


def soft(q, logits):
    return -(q * logits.log_softmax(-1)).sum(-1)


def mean(nats, drawn):
    return (nats * drawn).sum() / (drawn.sum() * nats.shape[0])


def loss_of(head, w, given, loss):
    features, target_head = given["features"], given["target_head"]
    logits = features @ target_head.T
    b = features.shape[0] // 2
    guided = lambda x: x[b:] + GUIDANCE * (x[:b] - x[b:])
    # Equation 4 of CASCADE: slot k weighs c if it and slot k + 1 are alike, with the caption.
    cosines = torch.cosine_similarity(features[:b, :-1], features[:b, 1:], dim=-1)
    weights = torch.ones(b, N, dtype=torch.float64)
    if loss["cascade"]:
        weights[:, :-1][cosines >= CASCADE["tau_seq"]] = CASCADE["c"]
        assert 0.2 < (weights[:, 1:] == CASCADE["c"]).double().mean() < 0.8
    total = 0.0
    for k, predicted in enumerate(drafts(head, w, given, loss["depth"])):
        # Row r of depth k predicts the feature of slot r + k + 1, which predicts the token of that slot.
        aim, predicted = slice(k + 1, N), predicted[:, : N - k - 1]
        drawn, weight = given["drawn"][aim], weights[:, aim]
        drafted = head.logits(w, target_head, predicted)
        regression = torch.nn.functional.smooth_l1_loss(predicted, features[:, aim])
        rows = mean(soft(logits[:, aim].softmax(-1), drafted) * weight.repeat(2, 1), drawn)
        of_guided = mean(soft(guided(logits[:, aim]).softmax(-1), guided(drafted)) * weight, drawn)
        # A token that is no code is drawn nowhere: whatever stands for it does not count.
        own = given["tokens"][:, aim].repeat(2, 1).clamp(max=head.codes - 1)
        hard = mean(-drafted.log_softmax(-1).gather(-1, own[..., None])[..., 0], drawn)
        terms = [loss["feature"] * regression, loss["rows"] * rows, loss["guided"] * of_guided, loss["hard"] * hard]
        total = total + loss["decay"] ** k * sum(terms)
    return total


def given_for(head, hide, force):
    normal = lambda *shape: torch.randn(*shape, dtype=torch.float64)
    b, rows = 2, 4
    width = 3 * D if head.kind == "eagle3" else D
    table = normal(VOCAB, D)
    tokens = torch.randint(0, head.codes, (b, N))
    positions = torch.arange(1, FRONT + N + 1, dtype=torch.float64)
    angles = torch.outer(positions, 10.0 ** -torch.arange(D_HEAD // 2, dtype=torch.float64))
    cos, sin = angles.cos(), angles.sin()
    if head.is_pairs:  # LlamaGen: neither cosine nor sine before the image.
        cos[:FRONT], sin[:FRONT] = 0.0, 0.0
    hidden = torch.zeros(rows, FRONT, dtype=torch.bool)
    drawn = torch.ones(N, dtype=torch.float64)
    if hide:
        hidden[2:, :2] = True
    if force:
        drawn[[4, 9]] = 0.0
        if head.codes < VOCAB:
            tokens[:, 4], tokens[:, 9] = VOCAB - 1, VOCAB - 2
    # Neighbours are alike to a degree that differs.
    features = normal(rows, N, D) + 0.4 * normal(rows, 1, D)
    return {
        "table": table, "tokens": tokens, "embeddings": table[tokens].repeat(2, 1, 1), "features": features,
        "read": normal(rows, N, width), "front_embeddings": normal(rows, FRONT, D),
        "front_read": normal(rows, FRONT, width), "hidden": hidden, "drawn": drawn, "cos": cos, "sin": sin,
        "target_head": 0.5 * normal(head.codes, D),
    }


def stored(x):
    if x.dtype == torch.bool:
        x = x.to(torch.float32)
    return (x.to(torch.float32) if x.is_floating_point() else x).contiguous()


def main():
    heads = {
        "eagle1": (Head("eagle1", True), ["published1", "cascade1", "all1"], False, False),
        "janus": (Head("eagle1", False, input_norm=True), ["published1"], False, False),
        "chameleon": (Head("eagle1", False, qk_norm=True, input_norm=True), ["published1", "all1"], True, True),
        "eagle3": (Head("eagle3", True), ["published3", "cascade3"], False, False),
        "eagle3_halves": (Head("eagle3", False), ["cascade3"], False, False),
        "eagle3_padded": (Head("eagle3", False), ["published3"], True, True),
        "shared": (Head("eagle1", False, input_norm=True, kv_heads=1), ["published1", "all1"], False, True),
        "eagle3_shared": (Head("eagle3", False, kv_heads=1, codes=CODES), ["published3", "cascade3"], True, True),
    }
    for seed, (name, (head, losses, hide, force)) in enumerate(heads.items()):
        torch.manual_seed(seed)
        given = given_for(head, hide, force)
        # What is stored is f32: the reference computes on the same numbers.
        given = {key: stored(x).double() if x.is_floating_point() else x for key, x in given.items()}
        w = {}
        for tensor, shape in head.shapes().items():
            centre = 1.0 if "norm" in tensor and tensor.endswith("weight") else 0.0
            spread = 0.3 if len(shape) == 1 or "norm" in tensor else shape[-1] ** -0.5
            value = centre + spread * torch.randn(shape, dtype=torch.float64)
            w[tensor] = stored(value).double().requires_grad_()
        out = {f"given.{key}": stored(x) for key, x in given.items() if key != "embeddings"}
        out |= {f"weight.{key}": stored(x.detach()) for key, x in w.items()}
        for loss in losses:
            value = loss_of(head, w, given, LOSSES[loss])
            grads = torch.autograd.grad(value, list(w.values()))
            out[f"{loss}.loss"] = stored(value.detach().view(1))
            out |= {f"{loss}.grad.{key}": stored(grad) for key, grad in zip(w, grads)}
            print(name, loss, f"{value.item():.6f}")
        save_file(out, f"{name}.safetensors")


if __name__ == "__main__":
    main()
