"""A plain autoregressive loop in PyTorch as an external method: a small transformer with random weights draws 8 x 8
tokens, and a palette turns them into a picture. It shows the shape of such a program; its pictures mean nothing.

It needs torch and the Python package of this repository, `specimen`. docs/python.md says how to measure it.
"""

import time
import zlib

import specimen
import torch
from torch import nn

SIDE = 8
N_TOKENS = SIDE * SIDE
N_CODES = 32
WIDTH = 64
N_WORDS = 256
#: Pixels along an edge of a token.
SCALE = 8
#: Up to this temperature specimen takes the likeliest token; the request says the temperature of the spec.
GREEDY_BELOW = 1e-5


class Target(nn.Module):
    """A transformer over image tokens with a bag of words in front."""

    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(N_WORDS, WIDTH)
        self.codes = nn.Embedding(N_CODES, WIDTH)
        self.positions = nn.Parameter(torch.randn(N_TOKENS, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, nhead=4, dim_feedforward=2 * WIDTH, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, N_CODES)

    def forward(self, conditions, tokens):
        """Logits of the next token. `conditions`: `[n, WIDTH]`; `tokens`: `[n, n_before]`."""
        x = torch.cat([conditions.unsqueeze(1), self.codes(tokens)], dim=1)
        x = x + self.positions[: x.shape[1]]
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.head(self.layers(x, mask=mask, is_causal=True)[:, -1])


def condition(model, prompt):
    """`[2, WIDTH]`: the prompt, and no prompt for guidance."""
    ids = [zlib.crc32(word.encode()) % N_WORDS for word in prompt.lower().split()]
    words = model.words(torch.tensor([ids or [0]]))
    return torch.cat([words, torch.zeros_like(words)])


def probabilities(logits, sampling):
    """The distribution that the next token is drawn from. `logits`: `[N_CODES]`."""
    if sampling.temperature <= GREEDY_BELOW:
        return nn.functional.one_hot(logits.argmax(), N_CODES).float()
    scaled = logits / sampling.temperature
    cuts = {"top-k": lambda x: cut_to_k(x, sampling.top_k), "top-p": lambda x: cut_to_p(x, sampling.top_p)}
    for name in sampling.filter_order.split("-then-"):
        scaled = cuts[name](scaled)
    return scaled.softmax(-1)


def cut_to_k(logits, k):
    """Keeps the `k` most likely tokens; 0 keeps all."""
    if k == 0 or k >= N_CODES:
        return logits
    return logits.masked_fill(logits < logits.topk(k).values[-1], float("-inf"))


def cut_to_p(logits, p):
    """Keeps the most likely tokens up to the one with which they have more than mass `p`; of equal ones the lowest ids come first."""
    if p >= 1:
        return logits
    values, order = logits.softmax(-1).sort(descending=True, stable=True)
    before = values.cumsum(-1, dtype=torch.float64) - values
    return logits.masked_fill(torch.zeros(N_CODES, dtype=torch.bool).scatter(0, order, before > p), float("-inf"))


def draw(model, request):
    """The tokens of one image, `[1, N_TOKENS]`, one forward a token."""
    source = torch.Generator().manual_seed(request.seed)
    conditions = condition(model, request.prompt)
    tokens = torch.empty(1, 0, dtype=torch.long)
    for _ in range(N_TOKENS):
        with_prompt, without = model(conditions, tokens.expand(2, -1))
        logits = without + request.sampling.guidance * (with_prompt - without)
        token = torch.multinomial(probabilities(logits, request.sampling), 1, generator=source)
        tokens = torch.cat([tokens, token.unsqueeze(0)], dim=1)
    return tokens


def main():
    torch.manual_seed(0)
    model = Target().eval()
    palette = torch.randint(0, 256, (N_CODES, 3), dtype=torch.uint8)

    @torch.inference_mode()
    def method(request):
        begun = time.monotonic()
        tokens = draw(model, request)
        drawn = time.monotonic()
        picture = palette[tokens.view(SIDE, SIDE)].repeat_interleave(SCALE, 0).repeat_interleave(SCALE, 1)
        # The tokens are no ids of the spec's model, so they are left out: it would score them as its own.
        return specimen.Answer(
            image=picture,
            forwards=N_TOKENS,
            phases_s={"target": drawn - begun, "picture": time.monotonic() - drawn},
        )

    specimen.serve(method)


if __name__ == "__main__":
    main()
