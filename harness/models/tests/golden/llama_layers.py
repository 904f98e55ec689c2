"""Layers of transformers 5.23 in the place of the equations of `make.py` and `make_eagle3.py`, which hold every layer
that they compute against them.

transformers turns the two halves of a head, LlamaGen adjacent pairs: rows of the query and key matrices are put into
halves, and the cosines and sines come from LlamaGen's own table (two axes of the grid, 0 before the image).
"""

import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaDecoderLayer


def config(d, heads, ffn, eps):
    return LlamaConfig(
        hidden_size=d, intermediate_size=ffn, num_hidden_layers=1, num_attention_heads=heads,
        num_key_value_heads=heads, rms_norm_eps=eps, attn_implementation="eager",
    )


def halves(matrix, heads):
    """Rows of adjacent pairs (`a0 b0 a1 b1 ...` a head) as rows of halves (`a0 a1 ... b0 b1 ...`)."""
    n, width = matrix.shape
    return matrix.view(heads, n // heads // 2, 2, width).transpose(1, 2).reshape(n, width)


def attention_state(q, k, v, o, heads):
    return {
        "q_proj.weight": halves(q, heads), "k_proj.weight": halves(k, heads), "v_proj.weight": v, "o_proj.weight": o,
    }


def both_halves(cos, sin):
    """Position embeddings of transformers from cosines and sines of pairs, `[n, d_head / 2]`."""
    return tuple(torch.cat([t, t], -1)[None] for t in (cos, sin))


def decoder_layer(x, cos, sin, mask, *, heads, ffn, eps, q, k, v, o, gate, up, down, norm1, norm2):
    """`LlamaDecoderLayer` on `x` (`[b, n, d]`); `norm1` is `None` where attention reads `x` as it is."""
    layer = LlamaDecoderLayer(config(x.shape[-1], heads, ffn, eps), 0).to(x.dtype).eval()
    state = {f"self_attn.{name}": value for name, value in attention_state(q, k, v, o, heads).items()}
    state |= {f"mlp.{name}_proj.weight": value for name, value in [("gate", gate), ("up", up), ("down", down)]}
    state["post_attention_layernorm.weight"] = norm2
    if norm1 is None:
        layer.input_layernorm = torch.nn.Identity()
    else:
        state["input_layernorm.weight"] = norm1
    layer.load_state_dict(state)
    out = layer(x, attention_mask=mask[None, None], position_embeddings=both_halves(cos, sin))
    return out[0] if isinstance(out, tuple) else out


def wide_attention(read, cos, sin, mask, *, d, heads, q, k, v, o):
    """`LlamaAttention` that reads `read` (`[b, n, width]`, wider than `d`), as EAGLE-3's layer does."""
    attention = LlamaAttention(config(d, heads, d, 1e-6), 0)
    for name in ["q_proj", "k_proj", "v_proj"]:
        setattr(attention, name, torch.nn.Linear(read.shape[-1], d, bias=False))
    attention = attention.to(read.dtype).eval()
    attention.load_state_dict(attention_state(q, k, v, o, heads))
    return attention(read, position_embeddings=both_halves(cos, sin), attention_mask=mask[None, None])[0]
