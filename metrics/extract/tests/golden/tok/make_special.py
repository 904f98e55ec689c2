"""Ids of texts with the names of special tokens and odd characters, by OpenAI's tokenizer and by
transformers'.

Run once where OpenAI's CLIP is installed (as clip-anytorch 2.6.0, with ftfy 6.3.1 and regex) and once where
transformers 5.23 is: python make_special.py bpe_simple_vocab_16e6.txt.gz
"""
import gzip, importlib.util, json, pathlib, sys

TEXTS = [
    "a photo <|endoftext|> of a cat", "a<|endoftext|>b", "!!<|endoftext|>!!", "a <|EndOfText|> b", "<|startoftext|>a dog",
    "<|endoftext|>", "<|endoftext|><|endoftext|> cat", "a <end_of_text> b", "<start_of_text>", "<|endoftext| >", "&lt;|endoftext|&gt;",
    "a <|endoftext|>'s b", "a\u0345b", "1\u0345 \u0345 !\u0345!", "\u1fb3 \u0399\u0345", "'\u017f o'S It'S",
    "x\u0301y e\u0301", "\u0e33 \u0e01\u0e33", "\u216b \u00bd \u0663", "\u2167cats",
    "snake_case --flag", "\u1e9e \u0130", "\U0001faa9 disco", "a\u00a0b\u2003c\u3000d",
]


def openai(path):
    place = pathlib.Path(importlib.util.find_spec("clip").origin).with_name("simple_tokenizer.py")
    spec = importlib.util.spec_from_file_location("simple_tokenizer", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SimpleTokenizer(path).encode


def hugging_face(path):
    from transformers import CLIPTokenizer
    merges = [tuple(line.split()) for line in gzip.open(path).read().decode().split("\n")[1:48895]]
    letters = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    letters = [chr(c) for c in letters] + [chr(256 + i) for i in range(256 - len(letters))]
    words = letters + [c + "</w>" for c in letters] + ["".join(pair) for pair in merges]
    words += ["<|startoftext|>", "<|endoftext|>"]
    tokenizer = CLIPTokenizer(vocab={word: i for i, word in enumerate(words)}, merges=merges)
    return lambda text: tokenizer(text)["input_ids"][1:-1]


path = pathlib.Path(__file__).with_name("special.json")
made = json.loads(path.read_text()) if path.exists() else [{"text": text} for text in TEXTS]
name, encode = ("openai", openai) if importlib.util.find_spec("clip") else ("hf", hugging_face)
encode = encode(sys.argv[1])
for case in made:
    case[name] = encode(case["text"])
path.write_text("[\n" + ",\n".join(json.dumps(case) for case in made) + "\n]\n")
