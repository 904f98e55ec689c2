"""Cleaned texts by ftfy and Python's html, as OpenAI's and open_clip's tokenizers clean them (`_clean_lower`), but for
texts in a wrong encoding, which stay.

Run: python make_clean.py > clean.json   (needs ftfy 6.3.1).
"""
import html, json, random
import ftfy


def clean(text):
    text = html.unescape(html.unescape(ftfy.fix_text(text, fix_encoding=False))).strip()
    return " ".join(text.split()).strip().lower()


PARTS = [
    "a", "Photo", " of ", "  ", "\t", "\n", "\r\n", "\r", "\u2028", "<", ">", "&", ";", "#", "x", "41", "&amp;", "&AMP;",
    "&amp", "&lt;", "&gt;b", "&quot;", "&eacute;", "&EACUTE;", "&Eacute;", "&NTILDE;", "&nTILDE;", "&szlig;", "&SZLIG;",
    "&notit;", "&not", "&notin;", "&copyx", "&#65;", "&#65", "&#x41;", "&#X4e", "&#0;", "&#128;", "&#x81;", "&#11;",
    "&#xD800;", "&#x110000;", "&#99999999999999999999;", "&#59;", "&#;", "&#x;", "&amp;amp;lt;", "&zopf;", "&Jscr;",
    "&acE;", "&hellip;", "&CounterClockwiseContourIntegral;", "&fjlig;", "&nGt;", "\u2018", "\u2019", "\u201c", "\u201d",
    "\u02bc", "\ufb01", "\ufb03", "\u0133", "\u01c4", "\uff21", "\uff71\uff9e", "\u3000", "\uff61", "\uffe0", "e\u0301",
    "A\u030a", "\u212b", "\u1100\u1161", "\x00", "\x07", "\x1b[31m", "\x1b[", "\x1b[1;2", "\x7f", "\ufeff", "\u206b",
    "\ufffc", "\u0130", "\u00df", "\u03a3", "\u03a3\u03c2", "\U0001f600", "\u732b", "\u0915\u094d", "caf\u00e9", "'S", "x" * 40,
    "don\u00e2\u20ac\u2122t", "\u00c3\u00a9", "\u00c3", "\u00e2\u20ac\u0153", "&Atilde;", "\x0b", "\x0c", "\u00a0", "\u2003", "\u200b", "\u200d", "\u017f", "\u212a",
]
random.seed(20)
texts = list(PARTS)
while len(texts) < 900:
    texts.append("".join(random.choice(PARTS) for _ in range(random.randint(2, 9))))
texts = list(dict.fromkeys(texts))
print(json.dumps([{"text": text, "cleaned": clean(text)} for text in texts], indent=0))
