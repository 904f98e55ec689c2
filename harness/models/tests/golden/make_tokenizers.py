"""The tokenizers of the toys, of the same kinds as those of flan-t5 and of Janus-Pro, and ids of some texts, by the
Python package `tokenizers` 0.23.

    python make_tokenizers.py        writes ../../weights/toy/*.json and tokenizers.json
"""

import json
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

TOYS = Path(__file__).resolve().parent / "../../weights/toy"
TEXTS = [
    "a red circle on a blue square",
    "  Two   dogs, and 3 cats!  ",
    "caf\u00e9 \u4e2d\u6587 \u00bd \ufb01n",
    "",
    "x",
    "<|User|>: a bus near the sea\n\n<|Assistant|>:<begin_of_image>",
    "1234567 and 12",
]


def t5():
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,!?'-:;\"()"
    syllables = ["\u2581the", "\u2581a", "\u2581of", "\u2581on", "ing", "er", "re", "\u2581red", "\u2581blue", "\u2581circle",
                 "\u2581square", "\u2581two", "\u2581dog", "s", "\u2581and", "ca", "at", "\u2581cat", "th", "ou", "en"]
    pieces = ["<pad>", "</s>", "<unk>", "\u2581", *letters, *[s for s in syllables if s not in letters]]
    scores = [0.0, 0.0, 0.0, -3.0] + [-6.0 - 0.01 * i for i in range(len(letters))]
    scores += [-4.0 - 0.1 * i for i in range(len(pieces) - len(scores))]
    tokenizer = Tokenizer(models.Unigram(list(zip(pieces, scores)), unk_id=2, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "\u2581")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="\u2581", prepend_scheme="always")
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    # As published: the model's own code pads and cuts, whatever stands here.
    tokenizer.enable_truncation(512)
    return tokenizer


def janus():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("\u0120", "a"), ("a", "n"), ("an", "d"), ("\u0120", "b"), ("e", "r"), ("r", "e"),
              ("re", "d"), ("\u0120", "c"), ("u", "s"), ("1", "2"), ("c", "i"), ("s", "e")]
    special = ["<\uff5c\u2581pad\u2581\uff5c>", "<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<\uff5cend\u2581of\u2581sentence\uff5c>",
               "<begin_of_image>", "<|User|>", "<|Assistant|>"]
    vocab = {piece: at for at, piece in enumerate(alphabet)}
    for piece in special:
        vocab[piece] = len(vocab)
    for a, b in merges:
        vocab[a + b] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.normalizer = normalizers.Sequence([])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"[\r\n]"), "isolated"),
        pre_tokenizers.Split(Regex(r"\s?\p{L}+"), "isolated"),
        pre_tokenizers.Split(Regex(r"\s?\p{P}+"), "isolated"),
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(piece, normalized=False, special=True) for piece in special])
    begin = special[1]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A", pair=f"{begin} $A {begin} $B", special_tokens=[(begin, vocab[begin])]
    )
    return tokenizer


def main():
    TOYS.mkdir(exist_ok=True)
    ids = {}
    for name, tokenizer in [("t5", t5()), ("janus", janus())]:
        tokenizer.save(str(TOYS / f"{name}-tokenizer.json"))
        ids[name] = [tokenizer.encode(text).ids for text in TEXTS]
    Path("tokenizers.json").write_text(json.dumps({"texts": TEXTS, **ids}, indent=1) + "\n")


if __name__ == "__main__":
    main()
