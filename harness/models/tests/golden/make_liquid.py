"""Golden values of Liquid, from the prompt to the logits of codes, by `GemmaForCausalLM` of transformers 5.23 and the Python
package tokenizers 0.23; the drafts of its heads by `LlamaDecoderLayer`, `LlamaAttention`, `LlamaMLP` and `LlamaRMSNorm`.

Heads are wider together than the stream, base and epsilons are no default. Both sequences of guidance are run apart, each from
position 0, without padding. `bf16.*` is what is computed of weights in bf16, rounded where transformers rounds: input vectors,
whose factor is rounded too, and a norm whose weight is 1 and a small number.

    python make_liquid.py        writes liquid.safetensors beside it
"""

import torch
from make_models import HERE, KNOWN, additive, causal, drafts, fill, only
from make_tokenizers import liquid
from recipe import weight
from safetensors.torch import save_file
from torch import nn
from transformers import GemmaConfig, GemmaForCausalLM, LlamaConfig
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.llama.modeling_llama import (
    LlamaAttention, LlamaDecoderLayer, LlamaMLP, LlamaRMSNorm, LlamaRotaryEmbedding,
)

torch.set_grad_enabled(False)

CODES, D, HEADS, D_HEAD, FFN, LAYERS, BASE, EPS, EPS_EAGLE1, EPS_EAGLE3 = 40, 30, 3, 16, 46, 6, 300.0, 0.02, 0.005, 0.03
TOKENIZER = liquid()
FIRST = TOKENIZER.get_vocab_size(with_added_tokens=True)
PROMPT = "a (red) bus near the cafe\u0301"
TEXTS = [PROMPT + " Generate an image based on this description.<boi>", "<unconditional><boi>"]


def model_of():
    config = GemmaConfig(
        vocab_size=FIRST + CODES, hidden_size=D, intermediate_size=FFN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=HEADS, head_dim=D_HEAD, hidden_act="gelu_pytorch_tanh", rms_norm_eps=EPS,
        rope_parameters={"rope_type": "default", "rope_theta": BASE}, max_position_embeddings=512,
        attn_implementation="eager", tie_word_embeddings=True,
    )
    model = fill(GemmaForCausalLM(config), lambda name: name)
    assert model.lm_head.weight is model.model.embed_tokens.weight
    return model


def words_of(tokens):
    return [FIRST + token for token in tokens]


def forward(model, words):
    out = model.model(input_ids=torch.tensor([words]), use_cache=False, output_hidden_states=True)
    return out.last_hidden_state, out.hidden_states, only_codes(model.lm_head(out.last_hidden_state))


def only_codes(logits):
    return logits[..., FIRST:]


def llama(eps):
    config = LlamaConfig(
        vocab_size=8, hidden_size=D, intermediate_size=FFN, num_hidden_layers=1, num_attention_heads=HEADS,
        num_key_value_heads=HEADS, head_dim=D_HEAD, rms_norm_eps=eps, max_position_embeddings=512,
        rope_parameters={"rope_type": "default", "rope_theta": BASE}, attn_implementation="eager",
    )
    return config, LlamaRotaryEmbedding(config)


def eagle1(model, words, features):
    config, rotary = llama(EPS_EAGLE1)
    layer = fill(LlamaDecoderLayer(config, 0), lambda name: "layers.0." + name)
    fc = fill(nn.Linear(2 * D, D), lambda name: "fc." + name)

    def run(tokens, features):
        n = features.shape[1]
        x = fc(torch.cat([model.model.embed_tokens(torch.tensor([words[1:] + words_of(tokens)])), features], -1))
        at = rotary(x, torch.arange(1, n + 1)[None])
        return only(layer(x, attention_mask=additive(causal(n)[None]), position_embeddings=at))

    return drafts(run, lambda predicted: only_codes(model.lm_head(predicted)), features, len(words) - 1)


def eagle3(model, words, entering):
    config, rotary = llama(EPS_EAGLE3)
    fc = fill(nn.Linear(3 * D, D, bias=False), lambda name: "fc." + name)
    attention = LlamaAttention(config, 0)
    for name in ["q_proj", "k_proj", "v_proj"]:
        setattr(attention, name, nn.Linear(2 * D, getattr(attention, name).out_features, bias=False))
    fill(attention, lambda name: "midlayer.self_attn." + name)
    mlp = fill(LlamaMLP(config), lambda name: "midlayer.mlp." + name)
    norm = lambda name: fill(LlamaRMSNorm(D, EPS_EAGLE3), lambda part: f"{name}.{part}")
    of_tokens, of_features = norm("midlayer.input_layernorm"), norm("midlayer.hidden_norm")
    between, last = norm("midlayer.post_attention_layernorm"), norm("norm")
    head = fill(nn.Linear(D, CODES, bias=False), lambda name: "lm_head." + name)
    table = model.model.embed_tokens

    def run(tokens, features):
        n = features.shape[1]
        read = torch.cat([of_tokens(table(torch.tensor([words[1:] + words_of(tokens)]))), of_features(features)], -1)
        at = rotary(read, torch.arange(1, n + 1)[None])
        x = features + attention(read, position_embeddings=at, attention_mask=additive(causal(n)[None]))[0]
        return x + mlp(between(x))

    mixed = fc(torch.cat([entering[layer] for layer in (2, LAYERS // 2, LAYERS - 3)], -1))
    return drafts(run, lambda predicted: head(last(predicted)), mixed, len(words) - 1)


def norm_in_bf16():
    """A norm whose weight is 1 and a number that bf16 loses beside it."""
    norm = GemmaRMSNorm(D, EPS)
    norm.weight.data = weight("small", D) * 0.01
    return norm.to(torch.bfloat16)(weight("stream embed", 4, 8, D).to(torch.bfloat16))


def main():
    model = model_of()
    rows = [TOKENIZER.encode(text).ids for text in TEXTS]
    out = {"caption": torch.tensor(rows[0]), "unconditional": torch.tensor(rows[1])}
    logits = [forward(model, words + words_of(KNOWN))[2][:, len(words) - 1:] for words in rows]
    out["logits"] = torch.cat(logits)
    of_heads = [(words, *forward(model, words + words_of(KNOWN[:-1]))) for words in rows]
    out["eagle1"] = torch.cat([eagle1(model, words, features) for words, features, _, _ in of_heads])
    out["eagle3"] = torch.cat([eagle3(model, words, entering) for words, _, entering, _ in of_heads])
    out["bf16.norm"] = norm_in_bf16().float()
    rounded = model.to(torch.bfloat16)
    out["bf16.embedded"] = rounded.model.embed_tokens(torch.tensor([rows[0]])).float()
    out = {key: tensor.contiguous().clone() for key, tensor in out.items()}
    save_file(out, HERE / "liquid.safetensors")
    print({key: list(tensor.shape) for key, tensor in out.items()})


if __name__ == "__main__":
    main()
