"""Golden values of Emu3, from the prompt to the picture, by `Emu3ForConditionalGeneration`, `LlamaDecoderLayer`,
`LlamaAttention`, `LlamaMLP` and `LlamaRMSNorm` of transformers 5.23, and tiktoken 0.14 for the words.

Six attention heads share three of keys and values, bases and epsilons are no default, a picture has two rows of eight codes.
Both sequences of guidance are run apart, each from position 0, without padding. All four frames of a picture are decoded.

    python make_emu3.py        writes emu3_*.safetensors beside it
"""

import re

import torch
from make_models import KNOWN, HERE, additive, causal, drafts, fill, only
from make_tokenizers import EMU3_CODES, emu3, emu3_ids
from recipe import weight
from safetensors.torch import save_file
from torch import nn
from transformers import Emu3Config, Emu3ForConditionalGeneration, Emu3TextConfig, Emu3VQVAEConfig, LlamaConfig
from transformers.models.llama.modeling_llama import (
    LlamaAttention, LlamaDecoderLayer, LlamaMLP, LlamaRMSNorm, LlamaRotaryEmbedding,
)

torch.set_grad_enabled(False)

ROWS, COLUMNS = 2, 8
D, HEADS, KV, FFN, LAYERS, BASE, EPS, EPS_EAGLE1, EPS_EAGLE3 = 36, 6, 3, 46, 6, 500.0, 0.02, 0.005, 0.03
PROMPT = "a (red) bus near the cafe\u0301"
POSITIVE = " masterpiece, film grained, best quality."
NEGATIVE = (
    "lowres, bad anatomy, bad hands, text, error, missing fingers, extra digit, fewer digits, cropped, worst quality, low "
    "quality, normal quality, jpeg artifacts, signature, watermark, username, blurry."
)
# The logit of a structural token, which is never drawn.
NEVER = -1e30

ENCODING = emu3()
SPECIAL = ENCODING._special_tokens
CODES = [SPECIAL[f"<|visual token {code:06}|>"] for code in range(EMU3_CODES)]
CLOSING = [SPECIAL[name] for name in ["<|extra_201|>", "<|image end|>", "<|extra_204|>"]]


def framed(text):
    return emu3_ids(ENCODING, f"<|extra_203|>{text}<|image start|>{ROWS}*{COLUMNS}<|image token|>")


def original(name):
    """The authors' name of a tensor of transformers."""
    name = name.replace("model.text_model.", "model.").replace("model.vqmodel.", "")
    name = name.replace("decoder.middle_block.attn_norm.", "decoder.mid.attn_1.norm.")
    name = re.sub(r"decoder\.up_block\.up\.(\d)\.attn_norms\.(\d)\.", r"decoder.up.\1.attn.\2.norm.", name)
    name = name.replace("decoder.middle_block.", "decoder.mid.").replace("decoder.up_block.up.", "decoder.up.")
    return re.sub(r"(attn[_.]\d\.)(q|k|v)_proj\.", r"\1\2.", name).replace(".out_proj.", ".proj_out.")


def first(name):
    """Its name in the files that transformers wrote in 2025-01."""
    name = name.replace("model.text_model.", "text_model.model.").replace("model.vqmodel.", "vqmodel.")
    return "text_" + "model." + name if name.startswith("lm_head.") else name


LAYOUTS = {"original": original, "hugging_face": first, "newer": lambda name: name}


def model_of(name_of):
    text = Emu3TextConfig(
        vocab_size=ENCODING.n_vocab, hidden_size=D, intermediate_size=FFN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=KV, max_position_embeddings=512, rms_norm_eps=EPS,
        rope_parameters={"rope_type": "default", "rope_theta": BASE}, pad_token_id=SPECIAL["<|endoftext|>"],
        bos_token_id=SPECIAL["<|extra_203|>"], eos_token_id=SPECIAL["<|extra_204|>"],
    )
    vq = Emu3VQVAEConfig(
        codebook_size=EMU3_CODES, base_channels=32, channel_multiplier=[1, 2], num_res_blocks=1, attn_resolutions=[1],
        hidden_size=64,
    )
    config = Emu3Config(text_config=text, vq_config=vq, vocabulary_map=SPECIAL | {"<image>": 0})
    config._attn_implementation = "eager"
    model = Emu3ForConditionalGeneration(config).eval()
    named = [*model.named_parameters(), *model.named_buffers()]
    for name, tensor in named:
        if ("running" in name or name in dict(model.named_parameters())) and "encoder" not in name:
            published, shape = name_of(name), tensor.shape
            # Projections of attention are convolutions of one place in the authors' file; their numbers are the same.
            tensor.data = weight(published, *shape)
    return model


def only_codes(logits):
    """`[b, n, words]` as the codes', with the four structural tokens behind them."""
    codes = logits[..., CODES]
    return torch.cat([codes, torch.full((*codes.shape[:-1], 4), NEVER)], -1)


def words_of(tokens):
    return [CODES[token] for token in tokens]


def forward(model, words):
    out = model.model.text_model(input_ids=torch.tensor([words]), use_cache=False, output_hidden_states=True)
    return out.last_hidden_state, out.hidden_states, model.lm_head(out.last_hidden_state)


def llama(eps):
    config = LlamaConfig(
        vocab_size=8, hidden_size=D, intermediate_size=FFN, num_hidden_layers=1, num_attention_heads=HEADS,
        num_key_value_heads=KV, rms_norm_eps=eps, max_position_embeddings=512,
        rope_parameters={"rope_type": "default", "rope_theta": BASE}, attn_implementation="eager",
    )
    return config, LlamaRotaryEmbedding(config)


def eagle1(model, words, features):
    config, rotary = llama(EPS_EAGLE1)
    layer = fill(LlamaDecoderLayer(config, 0), lambda name: "layers.0." + name)
    fc = fill(nn.Linear(2 * D, D), lambda name: "fc." + name)
    table = model.model.text_model.embed_tokens

    def run(tokens, features):
        n = features.shape[1]
        x = fc(torch.cat([table(torch.tensor([words[1:] + words_of(tokens)])), features], -1))
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
    head = fill(nn.Linear(D, EMU3_CODES, bias=False), lambda name: "lm_head." + name)
    table = model.model.text_model.embed_tokens

    def run(tokens, features):
        n = features.shape[1]
        read = torch.cat([of_tokens(table(torch.tensor([words[1:] + words_of(tokens)]))), of_features(features)], -1)
        at = rotary(read, torch.arange(1, n + 1)[None])
        x = features + attention(read, position_embeddings=at, attention_mask=additive(causal(n)[None]))[0]
        return x + mlp(between(x))

    def logits(predicted):
        codes = head(last(predicted))
        return torch.cat([codes, torch.full((*codes.shape[:-1], 4), NEVER)], -1)

    mixed = fc(torch.cat([entering[layer] for layer in (2, LAYERS // 2, LAYERS - 3)], -1))
    return drafts(run, logits, mixed, len(words) - 1)


def picture(model):
    """Pixels of the whole sequence of an image, structural tokens and all."""
    codes = torch.tensor([(7 * at + 3) % 41 for at in range(ROWS * COLUMNS)])
    rows = torch.tensor(words_of(codes)).view(ROWS, COLUMNS)
    ends = torch.full((ROWS, 1), SPECIAL["<|extra_200|>"])
    sequence = torch.cat([torch.cat([rows, ends], 1).flatten(), torch.tensor(CLOSING)])
    return codes, model.decode_image_tokens(image_tokens=sequence[None], height=ROWS, width=COLUMNS)


def main():
    rows = [framed(PROMPT + POSITIVE), framed(NEGATIVE)]
    assert len(rows[0]) < len(rows[1])
    for layout, name_of in LAYOUTS.items():
        model = model_of(name_of)
        codes, pixels = picture(model)
        out = {"codes": codes, "pixels": pixels}
        logits = [only_codes(forward(model, words + words_of(KNOWN))[2])[:, len(words) - 1:] for words in rows]
        out["logits"] = torch.cat(logits)
        if layout == "newer":
            out["caption"], out["negative"] = torch.tensor(rows[0]), torch.tensor(rows[1])
            of_heads = [(words, *forward(model, words + words_of(KNOWN[:-1]))) for words in rows]
            out["eagle1"] = torch.cat([eagle1(model, words, features) for words, features, _, _ in of_heads])
            out["eagle3"] = torch.cat([eagle3(model, words, entering) for words, _, entering, _ in of_heads])
        out = {key: tensor.contiguous().clone() for key, tensor in out.items()}
        save_file(out, HERE / f"emu3_{layout}.safetensors")
        print(layout, {key: list(tensor.shape) for key, tensor in out.items()})


if __name__ == "__main__":
    main()
