"""Makes ftfy.json beside it: texts with what ftfy repairs of them when it leaves encodings alone.

Run: python make_ftfy.py   (needs ftfy 6.3.1). Texts are sentences in several languages that were decoded in a wrong
encoding, once or twice, whole or in part, perhaps with bytes lost on the way, and random sequences of what mojibake
and captions are made of.
"""
import json, pathlib, random
import ftfy
from ftfy import chardata

SENTENCES = [
    "a don\u2019t sign \u2014 \u201cstop\u201d\u2026", "sch\u00f6ne Gr\u00fc\u00dfe aus K\u00f6ln", "caf\u00e9 \u00e0 la cr\u00e8me, d\u00e9j\u00e0 vu",
    "\u00e0 quel point", "\u00e0s \u00e0quela hora", "f\u00e0cil \u00e0 fer", "ni\u00f1o ma\u00f1ana \u00bfqu\u00e9 \u00a1s\u00ed!", "\u0141\u00f3d\u017a \u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105",
    "\u010desky \u0159e\u017e \u0148", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440", "\u043a\u043e\u0448\u043a\u0430 \u2014 \u0437\u0432\u0435\u0440\u044c", "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5", "\u0130stanbul \u015fehri \u0131\u011f\u0131",
    "l\u0101\u010dpl\u0113sis \u0161\u0137\u016b\u0146", "\u732b\u304c\u5ea7\u3063\u3066\u3044\u308b", "\uace0\uc591\uc774\uac00 \uc549\uc544", "\u0627\u0644\u0642\u0637\u0629 \u062a\u062c\u0644\u0633", "\u0939\u093f\u0928\u094d\u0926\u0940 \u092c\u093f\u0932\u094d\u0932\u0940",
    "\u05d7\u05ea\u05d5\u05dc", "\u0e41\u0e21\u0e27", "a cat \U0001f600 and a dog \U0001f436\ufe0f", "20 \u00b0C \u00b1 2 \u00b5m \u00bd \u00d7 3\u00b2", "\u20ac 5, \u00a3 3, \u00a5 2", "\u2714 done \u2022 item \u2122 \u00ae \u00a9",
    "na\u00efve fianc\u00e9e \u2013 r\u00e9sum\u00e9", "\u00a0indented\u00a0text\u00a0", "\u2500\u2502\u250c\u2510\u2588\u2592", "\ufb01sh \ufb02oor", "\u00c5ngstr\u00f6m \u00d8re \u00c6sir", "plain words only", "El Ni\u00f1o's \u00dcber-caf\u00e9", "\uff2c\uff2f\uff35\uff24 \u3000",
]
CODECS = list(chardata.CHARMAP_ENCODINGS)
ALPHABET = sorted({
    chr(code) for code in range(0x80, 0x10000) if not 0xD800 <= code < 0xE000
    and any(chardata.possible_encoding(chr(code), codec) for codec in CODECS)
} | set("aZ 0.,?!-_\n<"))


def wrong(text, rng):
    """`text` in UTF-8, decoded otherwise."""
    data = text.encode("utf-8")
    if rng.random() < 0.08:
        data = b"".join(
            chunk.encode("utf-16-be").decode("utf-16-be").encode("utf-8") if ord(chunk) < 0x10000 else cesu(chunk)
            for chunk in text)
    codec = rng.choice(CODECS[:2] * 3 + CODECS)
    text = data.decode(codec, "replace")
    roll = rng.random()
    if roll < 0.15:
        text = text.replace("\xa0", " ")
    elif roll < 0.25:
        text = "".join("\ufffd" if 0x80 <= ord(c) < 0xA0 else c for c in text)
    elif roll < 0.3:
        text = "".join("?" if 0x80 <= ord(c) < 0xA0 else c for c in text)
    elif roll < 0.35:
        text = text[: max(1, len(text) - rng.randint(1, 3))]
    elif roll < 0.38:
        text = text.upper()
    elif roll < 0.41:
        text = text.lower()
    return text


def cesu(c):
    pair = c.encode("utf-16-be")
    return b"".join(
        bytes([0xED, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F])
        for unit in (pair[0] << 8 | pair[1], pair[2] << 8 | pair[3]))


def make(rng):
    kind = rng.random()
    if kind < 0.3:
        return wrong(rng.choice(SENTENCES), rng)
    if kind < 0.45:
        return wrong(wrong(rng.choice(SENTENCES), rng), rng)
    if kind < 0.65:
        parts = [rng.choice([str, lambda text: wrong(text, rng)])(rng.choice(SENTENCES)) for _ in range(rng.randint(2, 3))]
        return rng.choice([" ", "", "\n", ", "]).join(parts)
    if kind < 0.75:
        words = rng.choice(SENTENCES).split(" ")
        return " ".join(wrong(word, rng) if rng.random() < 0.5 else word for word in words)
    if kind < 0.85:
        return rng.choice(["&eacute; ", "<b> &amp; ", "&Atilde;&copy; ", "\x85 "]) + wrong(rng.choice(SENTENCES), rng)
    return "".join(rng.choice(ALPHABET) if rng.random() < 0.8 else rng.choice("aqZ \u00c3\u00e2\u20ac ") for _ in range(rng.randint(1, 9)))


def main(n, seed):
    rng = random.Random(seed)
    texts = dict.fromkeys(SENTENCES)
    while len(texts) < n:
        texts[make(rng)] = None
    cases = [dict(text=text, fixed=ftfy.fix_text(text, fix_encoding=False)) for text in texts]
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in cases)
    return f'{{"ftfy": "{ftfy.__version__}", "cases": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    pathlib.Path(__file__).with_name("ftfy.json").write_text(main(300, 20))
