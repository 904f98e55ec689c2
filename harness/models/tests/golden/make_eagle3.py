"""Golden values of an EAGLE-3 head behind LlamaGen: target and head written out in NumPy from their equations, in f64.
Every layer of the target and the head's attention, norms and feed-forward are asserted to be what transformers' classes
make of the same weights (`llama_layers.py`).

The residual streams that enter a low, a middle and a high layer lie side by side, `fc` mixes them, and what the head
predicts goes back into it as it is. Attention reads the normed embedding of the next token beside the normed feature;
the residual stream is the feature without a norm; the head has a norm and logits of its own.

    python make_eagle3.py        writes eagle3.safetensors beside it
"""

import json
import struct

import numpy as np
import recipe
import torch
from llama_layers import config, decoder_layer, wide_attention
from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm

D, HEADS, FFN, VOCAB, SLOTS, CAPTION, GRID, LAYERS = 32, 2, 48, 40, 6, 10, 3, 3
TAPS, EPS = [0, 1, 2], {"target": 1e-5, "head": 1e-6}
TOKENS = [3, 17, 39]
# A tree below the last token: parent (-1: the root) and token of every node. The first path is three drafts deep.
PARENTS, NODES = [-1, -1, 0, 0, 2, 1], [5, 31, 7, 2, 38, 7]


def weight(name, *shape):
    return recipe.weight(name, *shape).numpy().astype(np.float64)


def rms(x, w, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w


def silu(x):
    return x / (1.0 + np.exp(-x))


def table(positions):
    """Cosines and sines of adjacent pairs, turned by row and column of the cell; 0 in the slots before the image."""
    quarter = D // HEADS // 4
    speeds = 10000.0 ** (-np.arange(quarter) / quarter)
    cells = np.array(positions) - SLOTS
    angles = np.concatenate([np.outer(cells // GRID, speeds), np.outer(cells % GRID, speeds)], 1)
    is_image = (cells >= 0)[:, None]
    return tuple(np.where(is_image, f(angles), 0.0) for f in (np.cos, np.sin))


def turn(x, positions):
    cos, sin = (t[None, :, None, :] for t in table(positions))
    a, b = x[..., 0::2], x[..., 1::2]
    return np.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)


def attend(read, get, names, positions, mask):
    b, n, width = read.shape
    q, k, v = (read @ get(name, D, width).T for name in names[:3])
    q, k, v = (x.reshape(b, n, HEADS, D // HEADS) for x in (q, k, v))
    scores = np.einsum("bqhc,bkhc->bhqk", turn(q, positions), turn(k, positions)) / np.sqrt(D // HEADS) + mask
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    context = np.einsum("bhqk,bkhc->bqhc", scores / scores.sum(-1, keepdims=True), v)
    return context.reshape(b, n, D) @ get(names[3], D, D).T


def feed_forward(x, get, names):
    gate, up, down = names
    return (silu(x @ get(gate, FFN, D).T) * (x @ get(up, FFN, D).T)) @ get(down, D, FFN).T


# Modules of transformers that made the same, and the largest difference. Their norms and softmax are in f32.
HELD = {"n": 0, "farthest": 0.0}


def hold(ours, theirs):
    HELD["n"] += 1
    HELD["farthest"] = max(HELD["farthest"], float(np.abs(ours - theirs.detach().numpy()).max()))
    assert HELD["farthest"] < 1e-5, HELD


def tensors(*arrays):
    return [torch.tensor(np.ascontiguousarray(array)) for array in arrays]


def hold_target(x, out, get, positions, mask):
    q, k, v, o, gate, up, down, norm1, norm2 = tensors(
        *(get(name, D, D) for name in ATTENTION), get(MLP[0], FFN, D), get(MLP[1], FFN, D), get(MLP[2], D, FFN),
        get("input_layernorm.weight", D), get("post_attention_layernorm.weight", D))
    entered, cos, sin, mask = tensors(x, *table(positions), mask)
    hold(out, decoder_layer(entered, cos, sin, mask, heads=HEADS, ffn=FFN, eps=EPS["target"], q=q, k=k, v=v, o=o,
                            gate=gate, up=up, down=down, norm1=norm1, norm2=norm2))


def hold_head(embeddings, features, attended, out, get, positions, mask):
    """The head's layer as its authors build it: two norms side by side, a wide attention, the feed-forward."""
    def norm(name, x):
        module = LlamaRMSNorm(D, EPS["head"]).double()
        module.load_state_dict({"weight": tensors(get(name, D))[0]})
        return module(x)

    embeddings, features, cos, sin, mask = tensors(embeddings, features, *table(positions), mask)
    embeddings = norm("input_layernorm.weight", embeddings).expand(features.shape)
    read = torch.cat([embeddings, norm("hidden_norm.weight", features)], -1)
    q, k, v, o = tensors(*(get(name, D, 2 * D) for name in ATTENTION[:3]), get(ATTENTION[3], D, D))
    theirs = wide_attention(read, cos, sin, mask, d=D, heads=HEADS, q=q, k=k, v=v, o=o)
    hold(attended, theirs)
    mlp = LlamaMLP(config(D, HEADS, FFN, EPS["head"])).double()
    gate, up, down = tensors(get(MLP[0], FFN, D), get(MLP[1], FFN, D), get(MLP[2], D, FFN))
    mlp.load_state_dict({"gate_proj.weight": gate, "up_proj.weight": up, "down_proj.weight": down})
    x = features + theirs
    hold(out, x + mlp(norm("post_attention_layernorm.weight", x)))


ATTENTION = [f"self_attn.{part}_proj.weight" for part in "qkvo"]
MLP = [f"mlp.{part}_proj.weight" for part in ["gate", "up", "down"]]


def causal(n):
    return np.where(np.tri(n, dtype=bool), 0.0, -np.inf)


def taps_of_target(tokens):
    """Residual streams that enter the tapped layers, side by side, `[2, n, 3 D]`: a caption in the last slots, and none."""
    caption, base = weight("caption embed", 4, CAPTION), "model.cls_embedding."
    n_pads = SLOTS - len(caption)
    padded = np.concatenate([np.zeros((n_pads, CAPTION)), caption])
    rows = np.stack([padded, weight(base + "uncond_embedding", SLOTS, CAPTION)])
    hidden = rows @ weight(base + "cap_proj.fc1.weight", D, CAPTION).T
    hidden = 0.5 * hidden * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (hidden + 0.044715 * hidden**3)))
    prefix = hidden @ weight(base + "cap_proj.fc2.weight", D, D).T
    image = weight("model.embed_tokens.weight", VOCAB, D)[tokens]
    x = np.concatenate([prefix, np.broadcast_to(image, (2, *image.shape))], 1)
    n = x.shape[1]
    mask = causal(n)
    mask[:, :n_pads] = -np.inf
    np.fill_diagonal(mask, 0.0)
    entering = []
    for i in range(LAYERS):
        entering.append(x)
        get = lambda name, *shape: weight(f"model.layers.{i}.{name}", *shape)
        read = rms(x, get("input_layernorm.weight", D), EPS["target"])
        x = x + attend(read, get, ATTENTION, range(n), mask)
        x = x + feed_forward(rms(x, get("post_attention_layernorm.weight", D), EPS["target"]), get, MLP)
        hold_target(entering[-1], x, get, range(n), mask)
    return np.concatenate([entering[tap] for tap in TAPS], -1)


def predict(features, tokens):
    """What the head predicts in every slot; slot `p` is paired with the token behind it. `features`: `[2, n, D]`."""
    get = lambda name, *shape: weight(f"midlayer.{name}", *shape)
    n, eps = features.shape[1], EPS["head"]
    looked_up = weight("embed_tokens.weight", VOCAB, D)[tokens]
    embeddings = np.broadcast_to(rms(looked_up, get("input_layernorm.weight", D), eps), features.shape)
    read = np.concatenate([embeddings, rms(features, get("hidden_norm.weight", D), eps)], -1)
    attended = attend(read, get, ATTENTION, range(1, n + 1), causal(n))
    x = features + attended
    out = x + feed_forward(rms(x, get("post_attention_layernorm.weight", D), eps), get, MLP)
    hold_head(looked_up, features, attended, out, get, range(1, n + 1), causal(n))
    return out


def draft(mixed, path):
    """Logits after the last token of `path`, drafted behind the known tokens with predictions for features."""
    tokens, features = [0] * (SLOTS - 1) + TOKENS, mixed
    predicted = predict(features, tokens)
    for token in path:
        tokens, features = tokens + [token], np.concatenate([features, predicted[:, -1:]], 1)
        predicted = predict(features, tokens)
    return rms(predicted[:, -1], weight("norm.weight", D), EPS["head"]) @ weight("lm_head.weight", VOCAB, D).T


def path_to(node):
    return [] if node < 0 else path_to(PARENTS[node]) + [NODES[node]]


def write(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        of_it = np.ascontiguousarray(values, dtype=np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [len(data), len(data) + len(of_it)]}
        data += of_it
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main():
    # The token behind the last known slot is drafted from: its own feature is not there yet.
    taps = taps_of_target(TOKENS[:-1])
    mixed = taps @ weight("fc.weight", D, 3 * D).T
    logits = np.stack([draft(mixed, path_to(node)) for node in range(-1, len(NODES))], 1)
    write("eagle3.safetensors", {"taps": taps, "mixed": mixed, "draft_logits": logits})
    print(f"{HELD['n']} modules are those of transformers within {HELD['farthest']:.1e}")


if __name__ == "__main__":
    main()
