"""Golden values of whole models, from the prompt to the drafts of every head, by the named classes of transformers 5.23:
`LlamaModel`, `LlamaDecoderLayer`, `LlamaAttention`, `LlamaMLP`, `LlamaRMSNorm`, `T5EncoderModel`, `ChameleonModel`,
`ChameleonDecoderLayer`, `JanusForConditionalGeneration`, with PyTorch's modules around them; Image-GPT, which has no
class there, by PyTorch's `MultiheadAttention` and `LayerNorm`.

No number is a default here: bases other than 10000, epsilons that show, three heads of widths that are no power of two,
six layers and more. Tokens are drawn by nobody: they are fixed, and the logits behind them are stored.

    python make_models.py        writes deep_*.safetensors beside it
"""

import json
from pathlib import Path

import torch
from llama_layers import halves
from recipe import weight
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import nn
from transformers import (
    ChameleonConfig, ChameleonForConditionalGeneration, JanusConfig, JanusForConditionalGeneration, JanusVisionConfig,
    JanusVQVAEConfig, LlamaConfig, LlamaModel, T5Config, T5EncoderModel,
)
from transformers.models.chameleon.modeling_chameleon import ChameleonDecoderLayer
from transformers.models.janus.modeling_janus import JanusVQVAE
from transformers.models.llama.modeling_llama import (
    LlamaAttention, LlamaDecoderLayer, LlamaMLP, LlamaRMSNorm, LlamaRotaryEmbedding,
)

torch.set_grad_enabled(False)
HERE = Path(__file__).parent
WEIGHTS = HERE / "../../weights"
LOWEST = torch.finfo(torch.float32).min

KNOWN = [3, 11, 7]
# A tree below the last known token: parent (-1: the root) and token of every node. The first path is three drafts deep.
PARENTS, NODES = [-1, -1, 0, 0, 2, 1], [5, 15, 7, 2, 13, 7]


def fill(module, name_of, change=lambda name, tensor: tensor):
    """Gives every parameter of `module` the values of its published name."""
    for name, tensor in module.named_parameters():
        tensor.data = change(name, weight(name_of(name), *tensor.shape))
    return module.eval()


def additive(visible):
    """`[b, n, n]` booleans as a mask of four axes."""
    return torch.where(visible, 0.0, LOWEST)[:, None]


def causal(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


def path_to(node):
    return [] if node < 0 else path_to(PARENTS[node]) + [node]


def only(out):
    return out[0] if isinstance(out, tuple) else out


def drafts(run, logits, features, n_before):
    """Logits behind the last known token and behind every node, `[2, 7, v]`. `run` maps tokens of the image and features
    to what the head predicts in all slots; features of nodes are what the head predicted at their parents."""
    found, predicted = [], {}
    for node in [-1, *range(len(NODES))]:
        path = path_to(node)
        tokens = KNOWN + [NODES[at] for at in path]
        joined = torch.cat([features] + [predicted[at][:, None] for at in [-1, *path][:-1] if path], 1)
        assert joined.shape[1] == n_before + len(tokens)
        predicted[node] = run(tokens, joined)[:, -1]
        found.append(logits(predicted[node]))
    return torch.stack(found, 1)


# ---------------------------------------------------------------------------------------------------------------------
# LlamaGen: eight layers, three heads of width 12, a 3 by 3 image behind 12 slots.

class Raster(nn.Module):
    """The positions of LlamaGen in the place of `LlamaModel.rotary_emb`: rows and columns of a grid behind slots whose
    cosines and sines are 0; `tiny` has the cosine 1 there."""

    def __init__(self, slots, grid, width, base, cosine=0.0):
        super().__init__()
        self.slots, self.grid, self.cosine = slots, grid, cosine
        self.speeds = base ** (-torch.arange(width // 4) / (width // 4))

    def forward(self, x, position_ids):
        cells = (position_ids[0] - self.slots).float()
        angles = torch.cat([torch.outer(at, self.speeds) for at in (cells // self.grid, cells % self.grid)], 1)
        angles, is_image = angles.repeat(1, 2), (cells >= 0)[:, None]
        return torch.where(is_image, angles.cos(), self.cosine)[None], torch.where(is_image, angles.sin(), 0.0)[None]


class LlamaGen:
    d, heads, ffn, vocab, slots, d_caption, grid, layers, base = 36, 3, 44, 40, 12, 10, 3, 8, 700.0
    eps, eps_head, eps_eagle3 = 0.02, 0.005, 0.03

    def __init__(self):
        self.config = self.config_of(self.eps)
        self.rotary = Raster(self.slots, self.grid, self.d // self.heads, self.base)
        self.model = LlamaModel(self.config)
        fill(self.model, lambda name: "model." + name, self.paired)
        self.model.rotary_emb = self.rotary
        self.head = weight("lm_head.weight", self.vocab, self.d)

    def config_of(self, eps):
        return LlamaConfig(
            vocab_size=self.vocab, hidden_size=self.d, intermediate_size=self.ffn, num_hidden_layers=self.layers,
            num_attention_heads=self.heads, num_key_value_heads=self.heads, rms_norm_eps=eps,
            max_position_embeddings=64, attn_implementation="eager",
        )

    def paired(self, name, tensor):
        """LlamaGen turns adjacent rows, transformers the halves of a head."""
        return halves(tensor, self.heads) if "q_proj" in name or "k_proj" in name else tensor

    def prefix(self, caption):
        base = "model.cls_embedding."
        project = nn.Sequential(
            nn.Linear(self.d_caption, self.d, bias=False), nn.GELU(approximate="tanh"),
            nn.Linear(self.d, self.d, bias=False),
        )
        fill(project, lambda name: base + {"0.weight": "cap_proj.fc1.weight", "2.weight": "cap_proj.fc2.weight"}[name])
        pads = torch.zeros(self.slots - len(caption), self.d_caption)
        nothing = weight(base + "uncond_embedding", self.slots, self.d_caption)
        return project(torch.stack([torch.cat([pads, caption]), nothing]))

    def forward(self, caption, tokens, pads_see):
        """Features of all slots, the residual streams that enter the layers, and the logits."""
        x = torch.cat([self.prefix(caption), self.model.embed_tokens(torch.tensor([tokens] * 2))], 1)
        n, n_pads = x.shape[1], self.slots - len(caption)
        seen = causal(n)
        if pads_see == "itself":
            seen[:, :n_pads] = False
            seen.fill_diagonal_(True)
        else:
            seen[n_pads:, :n_pads] = False
        out = self.model(
            inputs_embeds=x, attention_mask=additive(seen[None]).expand(2, 1, n, n), use_cache=False,
            position_ids=torch.arange(n)[None], output_hidden_states=True,
        )
        return out.last_hidden_state, out.hidden_states, out.last_hidden_state @ self.head.T

    def run_layer(self, layer, x):
        """A layer over whole sequences, each slot at the position of the token that it reads."""
        n = x.shape[1]
        at = self.rotary(x, torch.arange(1, n + 1)[None])
        return only(layer(x, attention_mask=additive(causal(n)[None]), position_embeddings=at))

    def eagle1(self, features, eps, quieter=1.0):
        table = nn.Embedding(self.vocab, self.d)
        fill(table, lambda name: "embed_tokens." + name)
        fc = fill(nn.Linear(2 * self.d, self.d), lambda name: "fc." + name, lambda _, tensor: tensor * quieter)
        layer = LlamaDecoderLayer(self.config_of(eps), 0)
        layer.input_layernorm = nn.Identity()
        fill(layer, lambda name: "layers.0." + name, self.paired)

        def run(tokens, features):
            read = table(torch.tensor([[0] * (self.slots - 1) + tokens] * 2))
            return self.run_layer(layer, fc(torch.cat([read, features], -1)))

        return drafts(run, lambda predicted: predicted @ self.head.T, features, self.slots - 1)

    def eagle3(self, entering):
        """Layers 2, 4 and 5 of eight are tapped where they begin."""
        eps, d = self.eps_eagle3, self.d
        config = self.config_of(eps)
        table = fill(nn.Embedding(self.vocab, d), lambda name: "embed_tokens." + name)
        fc = fill(nn.Linear(3 * d, d, bias=False), lambda name: "fc." + name)
        attention = LlamaAttention(config, 0)
        for name in ["q_proj", "k_proj", "v_proj"]:
            setattr(attention, name, nn.Linear(2 * d, d, bias=False))
        fill(attention, lambda name: "midlayer.self_attn." + name, self.paired)
        mlp = fill(LlamaMLP(config), lambda name: "midlayer.mlp." + name)
        norm = lambda name: fill(LlamaRMSNorm(d, eps), lambda part: f"{name}.{part}")
        of_tokens, of_features = norm("midlayer.input_layernorm"), norm("midlayer.hidden_norm")
        between, last = norm("midlayer.post_attention_layernorm"), norm("norm")
        head = fill(nn.Linear(d, self.vocab, bias=False), lambda name: "lm_head." + name)

        def run(tokens, features):
            n = features.shape[1]
            read = of_tokens(table(torch.tensor([[0] * (self.slots - 1) + tokens] * 2)))
            read = torch.cat([read, of_features(features)], -1)
            at = self.rotary(read, torch.arange(1, n + 1)[None])
            x = features + attention(read, position_embeddings=at, attention_mask=additive(causal(n)[None]))[0]
            return x + mlp(between(x))

        mixed = fc(torch.cat([entering[layer] for layer in (2, self.layers // 2, self.layers - 3)], -1))
        return drafts(run, lambda predicted: head(last(predicted)), mixed, self.slots - 1)


def caption_features(text):
    """Of an encoder of six layers with three heads of width 7, and 12 buckets of distances up to 20."""
    config = T5Config(
        vocab_size=128, d_model=LlamaGen.d_caption, d_kv=7, d_ff=22, num_layers=6, num_heads=3,
        feed_forward_proj="gated-gelu", relative_attention_num_buckets=12, relative_attention_max_distance=6,
        layer_norm_epsilon=0.02, dropout_rate=0.0,
    )
    model = fill(T5EncoderModel(config), lambda name: name)
    words = Tokenizer.from_file(str(WEIGHTS / "toy/t5-tokenizer.json")).encode(text).ids
    return model(input_ids=torch.tensor([words])).last_hidden_state[0]


def llamagen():
    model = LlamaGen()
    caption = caption_features("a red bus")
    assert 6 <= len(caption) < LlamaGen.slots - 2, f"{len(caption)} words leave no pads, or are too near to one another"
    out = {"prefix": model.prefix(caption)}
    out["logits"] = model.forward(caption, KNOWN, "itself")[2][:, model.slots - 1:]
    for pads_see in ["earlier", "itself"]:
        features, entering, _ = model.forward(caption, KNOWN[:-1], pads_see)
        out[f"{pads_see}.eagle1"] = model.eagle1(features, model.eps_head)
        out[f"{pads_see}.eagle3"] = model.eagle3(entering)
        if pads_see == "earlier":
            # So quiet that the published epsilon shows: means of squares of about 1e-6.
            out["quiet.eagle1"] = model.eagle1(features, 1e-6, quieter=2.0**-10)
    return out


# ---------------------------------------------------------------------------------------------------------------------
# Janus-Pro: six layers, three heads of width 10, a 3 by 3 image.

class Janus:
    d, heads, ffn, words, vocab, codes, layers, base, eps, pad = 30, 3, 46, 320, 40, 8, 6, 300.0, 0.02, 256
    eps_head = 0.005

    def __init__(self):
        self.text = LlamaConfig(
            vocab_size=self.words, hidden_size=self.d, intermediate_size=self.ffn, num_hidden_layers=self.layers,
            num_attention_heads=self.heads, num_key_value_heads=self.heads, rms_norm_eps=self.eps,
            max_position_embeddings=64, rope_parameters={"rope_type": "default", "rope_theta": self.base},
            attn_implementation="eager",
        )
        vision = JanusVisionConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=12, patch_size=4, mlp_ratio=2,
            projection_dim=self.d, num_image_tokens=9,
        )
        vq = JanusVQVAEConfig(
            embed_dim=self.codes, num_embeddings=self.vocab, latent_channels=16, base_channels=32,
            channel_multiplier=[1, 1], num_res_blocks=1, projection_dim=self.d, image_token_embed_dim=self.d,
            num_hidden_layers=2,
        )
        self.model = JanusForConditionalGeneration(
            JanusConfig(text_config=self.text, vision_config=vision, vq_config=vq)).eval()
        inner = self.model.model
        for part in ["language_model", "generation_embeddings", "generation_aligner", "generation_head"]:
            fill(getattr(inner, part), lambda name, part=part: f"model.{part}.{name}")
        self.inner = inner

    def read(self, tokens):
        return self.inner.generation_aligner(self.inner.generation_embeddings(torch.tensor([tokens] * 2)))

    def forward(self, words, tokens):
        rows = torch.tensor([words, [words[0]] + [self.pad] * (len(words) - 2) + [words[-1]]])
        x = self.inner.language_model.embed_tokens(rows)
        whole = torch.cat([x, self.read(tokens)], 1) if tokens else x
        features = self.inner.language_model(inputs_embeds=whole, use_cache=False).last_hidden_state
        return x, features, self.inner.generation_head(features)

    def eagle1(self, prefix, features, eps, quieter=1.0):
        config = LlamaConfig(**(self.text.to_dict() | {"rms_norm_eps": eps}))
        config._attn_implementation = "eager"
        layer = fill(LlamaDecoderLayer(config, 0), lambda name: "layers.0." + name)
        fc = fill(nn.Linear(2 * self.d, self.d), lambda name: "fc." + name, lambda _, tensor: tensor * quieter)
        rotary = LlamaRotaryEmbedding(config)

        def run(tokens, features):
            n = features.shape[1]
            read = torch.cat([prefix[:, 1:], self.read(tokens)], 1)
            x = fc(torch.cat([read, features], -1))
            at = rotary(x, torch.arange(1, n + 1)[None])
            return only(layer(x, attention_mask=additive(causal(n)[None]), position_embeddings=at))

        return drafts(run, self.inner.generation_head, features, prefix.shape[1] - 1)


def janus(words):
    model = Janus()
    prefix, _, logits = model.forward(words, KNOWN)
    features = model.forward(words, KNOWN[:-1])[1]
    return {
        "words": torch.tensor(words), "prefix": prefix, "logits": logits[:, len(words) - 1:],
        "eagle1": model.eagle1(prefix, features, model.eps_head),
        # The published target's own epsilon, which a head without a configuration has.
        "quiet.eagle1": model.eagle1(prefix, features, model.eps, quieter=2.0**-3),
    }


# ---------------------------------------------------------------------------------------------------------------------
# Chameleon: six layers, three heads of width 10, an image of 4 by 4 codes behind a prompt of Anole's.

class Chameleon:
    d, heads, ffn, words, layers, base, eps, codes = 30, 3, 46, 352, 6, 400.0, 0.02, 16

    def __init__(self):
        self.tokenizer = Tokenizer.from_file(str(WEIGHTS / "chameleon-toy/tokenizer.json"))
        letters = lambda code: "".join(chr(ord("A") + int(digit)) for digit in str(code))
        self.word_of = [self.tokenizer.token_to_id(f"IMGIMG{letters(code)}Z") for code in range(self.codes)]
        self.config = ChameleonConfig(
            vocab_size=self.words, hidden_size=self.d, intermediate_size=self.ffn, num_hidden_layers=self.layers,
            num_attention_heads=self.heads, num_key_value_heads=self.heads, max_position_embeddings=160,
            rms_norm_eps=self.eps, rope_parameters={"rope_type": "default", "rope_theta": self.base},
            attn_implementation="eager", pad_token_id=1, bos_token_id=0, eos_token_id=2,
            vocabulary_map={"<image>": 40, **{f"IMGIMG{letters(i)}Z": word for i, word in enumerate(self.word_of)}},
            vq_config=dict(embed_dim=4, num_embeddings=16, latent_channels=4, resolution=32, base_channels=32,
                           channel_multiplier=[1], num_res_blocks=1),
        )
        self.model = ChameleonForConditionalGeneration(self.config).eval()
        self.inner = self.model.model
        for part in ["layers", "norm", "embed_tokens"]:
            fill(getattr(self.inner, part), lambda name, part=part: f"model.{part}.{name}")
        fill(self.model.lm_head, lambda name: "lm_head." + name)

    def rows(self, caption):
        word = self.tokenizer.token_to_id
        begin, pad, image = word("<s>"), word("<pad>"), word("<racm3:break>")
        asked = [begin, *self.tokenizer.encode(caption, add_special_tokens=False).ids, word("<reserved08706>"), image]
        nothing = [begin, image]
        return torch.tensor([asked, [pad] * (len(asked) - 2) + nothing]), len(asked) - 2

    def words_of(self, tokens):
        return torch.tensor([[self.word_of[token] for token in tokens]] * 2)

    def hidden_pads(self, n, n_pads):
        seen = causal(n)[None].repeat(2, 1, 1)
        seen[1, :, :n_pads] = False
        return additive(seen)

    def logits(self, features):
        return self.model.lm_head(features)[..., self.word_of]

    def forward(self, rows, n_pads, tokens):
        ids = torch.cat([rows, self.words_of(tokens)], 1)
        n = ids.shape[1]
        at = (torch.arange(n)[None] - torch.tensor([[0], [n_pads]])).clamp(min=0)
        return self.inner(
            input_ids=ids, attention_mask=self.hidden_pads(n, n_pads), position_ids=at, use_cache=False,
        ).last_hidden_state

    def eagle1(self, rows, n_pads, features):
        layer = fill(ChameleonDecoderLayer(self.config, 0), lambda name: "layers.0." + name)
        fc = fill(nn.Linear(2 * self.d, self.d), lambda name: "fc." + name)

        def run(tokens, features):
            n = features.shape[1]
            words = torch.cat([rows, self.words_of(tokens)], 1)[:, 1:]
            x = fc(torch.cat([self.inner.embed_tokens(words), features], -1))
            at = torch.arange(n)[None].repeat(2, 1)
            return only(layer(
                x, attention_mask=self.hidden_pads(n, n_pads), position_ids=at,
                position_embeddings=self.inner.rotary_emb(x, at),
            ))

        return drafts(run, self.logits, features, rows.shape[1] - 1)


def chameleon():
    model = Chameleon()
    rows, n_pads = model.rows("a red circle")
    features = model.forward(rows, n_pads, KNOWN)
    return {
        "words": rows, "logits": model.logits(features[:, rows.shape[1] - 1:]),
        "eagle1": model.eagle1(rows, n_pads, model.forward(rows, n_pads, KNOWN[:-1])),
    }


# ---------------------------------------------------------------------------------------------------------------------
# The embedded model's architecture (six layers, three heads of width 12 beside a stream of 30), and Image-GPT's (six
# layers, three heads of width 7).

def tiny():
    d, heads, width, ffn, vocab, slots, grid, layers, eps = 30, 3, 12, 46, 40, 5, 3, 6, 0.02
    config = LlamaConfig(
        vocab_size=vocab, hidden_size=d, intermediate_size=ffn, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=heads, head_dim=width, rms_norm_eps=eps, attn_implementation="eager",
    )
    model = LlamaModel(config).eval()
    model.rotary_emb = Raster(slots, grid, width, 60.0, cosine=1.0)
    model.norm.weight.data = weight("norm.weight", d)
    for i, layer in enumerate(model.layers):
        get = lambda name, *shape, i=i: weight(f"layers.{i}.{name}.weight", *shape)
        attention, mlp = layer.self_attn, layer.mlp
        parts = get("attention.qkv", 3 * heads * width, d).chunk(3)
        for projection, part in zip([attention.q_proj, attention.k_proj, attention.v_proj], parts):
            projection.weight.data = part
        attention.o_proj.weight.data = get("attention.out", d, heads * width)
        mlp.gate_proj.weight.data, mlp.up_proj.weight.data = get("ffn.gate_up", 2 * ffn, d).chunk(2)
        mlp.down_proj.weight.data = get("ffn.down", d, ffn)
        layer.input_layernorm.weight.data = get("attention_norm", d)
        layer.post_attention_layernorm.weight.data = get("ffn_norm", d)
    words = torch.tensor([[4, 0, 6, 2, 2], [1, 1, 1, 1, 1]])
    slots = weight("words.weight", 7, d)[words] + weight("slots.weight", 5, d)
    x = torch.cat([slots, weight("tokens.weight", vocab, d)[torch.tensor([KNOWN] * 2)]], 1)
    n = x.shape[1]
    features = model(
        inputs_embeds=x, attention_mask=additive(causal(n)[None]).expand(2, 1, n, n), use_cache=False,
        position_ids=torch.arange(n)[None],
    ).last_hidden_state
    return {"words": words, "logits": (features @ weight("head.weight", vocab, d).T)[:, 4:]}


def igpt():
    d, heads, vocab, layers = 21, 3, 16, 6
    x = torch.cat([weight("gpt.sos", d)[None], weight("gpt.token_embeddings.weight", vocab, d)[KNOWN]])
    x = (x + weight("gpt.position_embeddings.weight", 9, d)[:len(x)])[None]
    hidden = torch.where(causal(x.shape[1]), 0.0, float("-inf"))
    for i in range(layers):
        part = lambda module, name, i=i: fill(module, lambda of: f"gpt.layers.{i}.{name}.{of}")
        attention = part(nn.MultiheadAttention(d, heads, batch_first=True), "attn")
        mlp = part(nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)), "mlp")
        # Its quirk: the residual starts from the normed value.
        normed = part(nn.LayerNorm(d), "ln_1")(x)
        x = normed + attention(normed, normed, normed, attn_mask=hidden, need_weights=False)[0]
        x = x + mlp(part(nn.LayerNorm(d), "ln_2")(x))
    last = fill(nn.LayerNorm(d), lambda name: "gpt.ln_f." + name)(x)
    return {"logits": last @ weight("gpt.head.weight", vocab, d).T}


def vq16():
    """LlamaGen's picture decoder so quiet behind its first convolution that the epsilon of the first norm shows."""
    config = JanusVQVAEConfig(
        embed_dim=8, num_embeddings=40, latent_channels=16, base_channels=32, channel_multiplier=[1, 1, 2],
        num_res_blocks=2,
    )
    model = JanusVQVAE(config)
    fill(model, lambda name: name, lambda name, tensor: tensor * 2.0**-10 if "decoder.conv_in." in name else tensor)
    tokens = torch.tensor([[7, 0, 39, 12, 5], [5, 5, 21, 33, 2], [1, 30, 18, 9, 38]])
    codes = nn.functional.normalize(model.quantize.embedding.weight, p=2, dim=-1)[tokens]
    return {"tokens": tokens[None], "pixels": model.decoder(model.post_quant_conv(codes[None].permute(0, 3, 1, 2)))}


def main():
    prompts = json.loads((HERE / "tokenizers.json").read_text())["janus"]
    made = {"llamagen": llamagen(), "janus": janus(prompts[5]), "chameleon": chameleon(), "tiny": tiny(), "igpt": igpt()}
    made["vq16"] = vq16()
    for name, tensors in made.items():
        tensors = {key: tensor.contiguous().clone() for key, tensor in tensors.items()}
        save_file(tensors, HERE / f"deep_{name}.safetensors")
        print(name, {key: list(tensor.shape) for key, tensor in tensors.items()})


if __name__ == "__main__":
    main()
