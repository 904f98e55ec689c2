"""The tokenizers of the toys, of the same kinds as those of flan-t5, of Janus-Pro, of Liquid (which is Gemma's) and of Emu3, and
ids of some texts, by the Python packages `tokenizers` 0.23 and, for Emu3, `tiktoken` 0.14.

    python make_tokenizers.py        writes ../../weights/toy/*.json, ../../weights/emu3-toy/emu3.tiktoken, emu3_tokenizer.json
                                     and tokenizers.json
"""

import base64
import json
import unicodedata
from pathlib import Path

import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

HERE = Path(__file__).resolve().parent
TOYS = HERE / "../../weights/toy"
TEXTS = [
    "a red circle on a blue square",
    "  Two   dogs, and 3 cats!  ",
    "caf\u00e9 \u4e2d\u6587 \u00bd \ufb01n",
    "",
    "x",
    "<|User|>: a bus near the sea\n\n<|Assistant|>:<begin_of_image>",
    "1234567 and 12",
    "the (a) red-quality cafe\u0301<|extra_200|>, low  low\n\n quality's THE'S",
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


def liquid():
    """Pieces of letters with bytes for all others, no space put before a text, and a word before it. The words of images have
    the places of unused ones."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<boi>", "<eoi>", "<unconditional>", "<unused0>"]
    letters = "\u2581abcdefghijklmnopqrstuvwxyz0123456789.,:()<>|_-"
    merges = [("t", "h"), ("th", "e"), ("\u2581", "a"), ("a", "n"), ("an", "d"), ("\u2581", "b"), ("\u2581b", "u"), ("e", "r"),
              ("r", "e"), ("re", "d"), ("\u2581", "\u2581"), ("u", "s"), ("i", "m"), ("a", "g"), ("im", "ag"), ("imag", "e"),
              ("o", "n"), ("c", "i"), ("\u2581", "th"), ("i", "s")]
    pieces = special + [f"<0x{byte:02X}>" for byte in range(256)] + [a + b for a, b in merges] + list(letters)
    vocab = {piece: at for at, piece in enumerate(pieces)}
    assert len(vocab) == len(pieces)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(piece, normalized=False, special=True) for piece in special])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", pair="<bos> $A <bos> $B", special_tokens=[("<bos>", vocab["<bos>"])]
    )
    return tokenizer


# What Emu3's own tokenizer splits a text by, before its parts become words.
EMU3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Words of more than one byte, by rank; "(a" shows which way a text was split.
EMU3_MERGES = [" a", "(a", "th", "the", "re", "red", "in", "ing", " c", "er", " b", " bu", "us", " bus", "an", "and", " and",
               "ca", "\u00e9", " th", " the", "qu", "ua", "qua", "ity", "quality", "ow", "low", ", "]
EMU3_CODES = 48


def emu3_special(n_words):
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + [f"<|extra_{i}|>" for i in range(205)]
    names += ["<|image token|>", "<|image start|>", "<|image end|>"]
    names += [f"<|visual token {code:06}|>" for code in range(EMU3_CODES)]
    return {name: n_words + at for at, name in enumerate(names)}


def emu3():
    words = [bytes([byte]) for byte in range(256)] + [merge.encode() for merge in EMU3_MERGES]
    ranks = {word: rank for rank, word in enumerate(words)}
    return tiktoken.Encoding("toy", pat_str=EMU3_SPLIT, mergeable_ranks=ranks, special_tokens=emu3_special(len(words)))


def emu3_ids(encoding, text):
    return encoding.encode(unicodedata.normalize("NFC", text), allowed_special="all")


def emu3_of_transformers(encoding):
    """The same words as `transformers` publishes them: split as GPT-2 does, and not composed."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unseen = [byte for byte in range(256) if byte not in seen]
    written = lambda word: "".join(chr(byte) if byte in seen else chr(256 + unseen.index(byte)) for byte in word)
    ranks = encoding._mergeable_ranks
    merges = []
    for word in sorted(ranks, key=ranks.get):
        ways = [(word[:at], word[at:]) for at in range(1, len(word)) if word[:at] in ranks and word[at:] in ranks]
        merges += [tuple(map(written, way)) for way in sorted(ways, key=lambda way: [ranks[part] for part in way])[:1]]
    tokenizer = Tokenizer(models.BPE(vocab={written(word): rank for word, rank in ranks.items()}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in encoding._special_tokens])
    return tokenizer


def main():
    TOYS.mkdir(exist_ok=True)
    encoding = emu3()
    lines = [f"{base64.b64encode(word).decode()} {rank}\n" for word, rank in encoding._mergeable_ranks.items()]
    (HERE / "../../weights/emu3-toy").mkdir(exist_ok=True)
    (HERE / "../../weights/emu3-toy/emu3.tiktoken").write_text("".join(lines))
    emu3_of_transformers(encoding).save(str(HERE / "emu3_tokenizer.json"))
    ids = {}
    for name, tokenizer in [("t5", t5()), ("janus", janus()), ("liquid", liquid())]:
        tokenizer.save(str(TOYS / f"{name}-tokenizer.json"))
        ids[name] = [tokenizer.encode(text).ids for text in TEXTS]
    ids["emu3"] = [emu3_ids(encoding, text) for text in TEXTS]
    (HERE / "tokenizers.json").write_text(json.dumps({"texts": TEXTS, **ids}, indent=1) + "\n")


if __name__ == "__main__":
    main()
