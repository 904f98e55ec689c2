"""Metrics are those of the commands, to the digit, and their errors are those of the commands."""

import dataclasses
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import specimen
from conftest import program_path
from specimen import binary


def answer_of(program, *words, cwd):
    return json.loads(program(*words, "--format", "json", cwd=cwd))


def check(found, answer):
    """A measurement has everything that the command answered."""
    assert (found.metric, found.value, float(found)) == (answer["metric"], answer["value"], answer["value"])
    assert f"{found.protocol}@{found.digest}" == answer["protocol"] and len(found.digest) == 12
    assert (None if found.interval is None else list(found.interval)) == answer["ci95"]
    assert list(found.n) == answer["n"] and found.extractor == answer["extractor"]
    assert list(found.notes) == answer.get("notes", []) and found.details == answer.get("details", {})
    assert list(found.left_out) == answer.get("left_out", [])


CALLS = {
    "fid": (lambda m, a, b: m.fid(a, b), ["fid", "A", "B"]),
    "fid with an interval": (
        lambda m, a, b: m.fid(a, b, protocol="clean", ci=True), ["fid", "A", "B", "--protocol", "clean", "--ci"],
    ),
    "kid": (lambda m, a, b: m.kid(a, b), ["kid", "A", "B"]),
    "kid in subsets": (
        lambda m, a, b: m.kid(a, b, protocol="tf1", subset_size=20, subsets=5, seed=7, ci=True),
        ["kid", "A", "B", "--protocol", "tf1", "--subset-size", "20", "--subsets", "5", "--seed", "7", "--ci"],
    ),
    "inception_score": (lambda m, a, b: m.inception_score(a, seed=3), ["is", "A", "--seed", "3"]),
    "cmmd": (lambda m, a, b: m.cmmd(a, b, ci=True), ["cmmd", "A", "B", "--ci"]),
    "vendi": (lambda m, a, b: m.vendi(a, protocol="clean"), ["vendi", "A", "--protocol", "clean"]),
    "clip_score": (
        lambda m, a, b: m.clip_score(a, b, protocol="lantern-clip", ci=True),
        ["clip-score", "A", "B", "--protocol", "lantern-clip", "--ci"],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_value_is_that_of_the_command(desk, program, name):
    call, words = CALLS[name]
    paths = {"A": desk / "real.npy", "B": desk / "generated.npy"}
    found = call(specimen, paths["A"], str(paths["B"]))
    check(found, answer_of(program, *(paths.get(word, word) for word in words), cwd=desk))
    assert "--ci" not in words or "--subsets" in words or found.interval[0] <= found.value <= found.interval[1]
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.value = 0.0


def test_prdc_is_four_values(desk, program):
    four = specimen.prdc(desk / "real.npy", desk / "generated.npy", k=3, ci=True)
    answer = answer_of(program, "prdc", "real.npy", "generated.npy", "-k", "3", "--ci", cwd=desk)
    names = [field.name for field in dataclasses.fields(four)]
    assert names == ["precision", "recall", "density", "coverage"] == [one["metric"] for one in answer]
    for name, one in zip(names, answer):
        check(getattr(four, name), one)
    assert four.precision.details["k"] == 3


def test_two_folders_of_pictures_are_measured(pictures, program):
    real, generated, weights = pictures / "real", pictures / "generated", pictures / "clip.safetensors"
    found = specimen.fid(real, generated, protocol=str(pictures / "narrow.toml"), weights=weights, cache=False, batch=2)
    words = ["fid", real, generated, "--protocol", "narrow.toml", "--weights", weights, "--no-cache", "--batch", "2"]
    check(found, answer_of(program, *words, cwd=pictures))
    assert found.n == (4, 4) and found.value > 0 and found.protocol == "narrow"
    assert "clip-vit-b32" in found.extractor


def test_pictures_in_pairs_are_measured(pictures, program, tmp_path):
    real, generated = pictures / "real", pictures / "generated"
    # Four pairs have no interval; each twice are enough for one.
    twice = [tmp_path / side.name for side in (real, generated)]
    for side, folder in zip((real, generated), twice):
        shutil.copytree(side, folder)
        for picture in side.iterdir():
            shutil.copy(picture, folder / f"again-{picture.name}")
    for call, name in [(specimen.ssim, "ssim"), (specimen.psnr, "psnr")]:
        check(call(real, generated), answer_of(program, name, real, generated, cwd=pictures))
        check(call(*twice, ci=True), answer_of(program, name, *twice, "--ci", cwd=pictures))
        with pytest.raises(specimen.Error, match="needs at least 6 observations, found 4"):
            call(real, generated, ci=True)
    assert specimen.ssim(real, real).value == 1.0
    with pytest.raises(specimen.Error, match="psnr: no value: 4 of 4 pairs are of equal pictures"):
        specimen.psnr(real, real)


def test_a_picture_that_cannot_be_used_is_left_out_only_if_that_is_asked_for(pictures, tmp_path):
    generated = shutil.copytree(pictures / "generated", tmp_path / "generated")
    (generated / "9.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    given = {"protocol": str(pictures / "narrow.toml"), "weights": pictures / "clip.safetensors"}
    with pytest.raises(specimen.Error, match="9.png"):
        specimen.fid(pictures / "real", generated, **given)
    found = specimen.fid(pictures / "real", generated, keep_going=True, **given)
    assert found.n == (4, 4) and [one["file"] for one in found.left_out] == ["9.png"]


def test_an_error_is_the_message_of_the_command_with_its_code(desk):
    words = [program_path(), "fid", "real.npy", "absent", "--format", "json"]
    ran = subprocess.run(words, cwd=desk, capture_output=True, check=False)
    with pytest.raises(specimen.Error) as raised:
        specimen.fid(desk / "real.npy", desk / "absent")
    reported = json.loads(ran.stderr)["error"]
    assert raised.value.code == reported["code"] == ran.returncode == 4
    assert "absent" in str(raised.value) and reported["message"].split("absent")[-1] in str(raised.value)


def test_a_usage_error_is_an_error_too(desk):
    with pytest.raises(specimen.Error) as raised:
        specimen.fid(desk / "real.npy", desk / "generated.npy", batch=0)
    assert raised.value.code == 2 and "--batch" in str(raised.value)
    with pytest.raises(specimen.Error, match="nosuch"):
        specimen.kid(desk / "real.npy", desk / "generated.npy", protocol="nosuch")


def test_an_unknown_option_is_refused_before_anything_runs():
    with pytest.raises(TypeError, match="no option divice='cuda'; the options are device, batch"):
        specimen.fid("a", "b", divice="cuda")
    with pytest.raises(TypeError, match="no option ci='yes'"):
        specimen.vendi("a", ci="yes")


def test_every_option_is_that_of_the_command(monkeypatch, tmp_path):
    fake, given = tmp_path / "specimen", tmp_path / "given"
    answer = json.dumps({
        "metric": "m", "value": 1.0, "ci95": None, "protocol": "p@0123456789ab", "n": [None, 2], "extractor": None,
    })
    fake.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >{given}\necho '{answer}'\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("SPECIMEN_BIN", str(fake))

    def check_words(call, *expected):
        assert call().n == (None, 2)
        assert given.read_text(encoding="utf-8").split("\n")[:-1] == [expected[0], "--format", "json", *expected[1:]]

    check_words(lambda: specimen.fid("a", "b"), "fid", "--", "a", "b")
    check_words(lambda: specimen.fid("a", "b", ci=False, keep_going=False, cache=True), "fid", "--", "a", "b")
    flags = ["--ci", "--keep-going", "--no-cache"]
    check_words(lambda: specimen.vendi("a", ci=True, keep_going=True, cache=False), "vendi", *flags, "--", "a")
    values = ["--protocol=p", "--device=cuda:1", "--batch=2", "--layer=64", "--dtype=bf16", "--weights=w/x"]
    options = {"device": "cuda:1", "batch": 2, "layer": "64", "dtype": "bf16", "weights": Path("w/x")}
    check_words(lambda: specimen.cmmd("a", "b", protocol="p", **options), "cmmd", *values, "--", "a", "b")
    check_words(lambda: specimen.aesthetic("a", ci=True), "aesthetic", "--ci", "--", "a")
    note = "no published digest vouches for its weights"
    noted = answer.replace('"n":', f'"notes": ["{note}"], "n":')
    fake.write_text(fake.read_text(encoding="utf-8").replace(answer, noted), encoding="utf-8")
    assert specimen.lpips("a", "b").notes == (note,)
    pair = ["lpips", "--protocol=lpips-vgg", "--device=cuda", "--", "a", "b"]
    check_words(lambda: specimen.lpips("a", "b", protocol="lpips-vgg", device="cuda"), *pair)
    for name, call in [
        ("pickscore", specimen.pickscore),
        ("hpsv2.1", specimen.hpsv2),
        ("hpsv2.0", lambda *sides, **options: specimen.hpsv2(*sides, version="2.0", **options)),
        ("imagereward", specimen.imagereward),
    ]:
        check_words(lambda call=call: call("a", "c.json", caption="first"), name, "--caption=first", "--", "a", "c.json")
    captioned = ["clip-score", "--caption=longest", "--", "a", "c.json"]
    check_words(lambda: specimen.clip_score("a", "c.json", caption="longest"), *captioned)


def test_a_path_that_looks_like_an_option_is_a_path(desk, monkeypatch):
    shutil.copy(desk / "real.npy", desk / "--ci.npy")
    monkeypatch.chdir(desk)
    assert specimen.fid("--ci.npy", "real.npy").value == pytest.approx(0.0, abs=1e-9)


def test_the_program_is_named_by_the_variable_then_found_on_path(desk, monkeypatch, tmp_path):
    program = program_path()
    monkeypatch.setenv("SPECIMEN_BIN", str(tmp_path / "absent"))
    with pytest.raises(specimen.Error, match="SPECIMEN_BIN=.*absent is not a program"):
        specimen.fid("a", "b")
    monkeypatch.delenv("SPECIMEN_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(specimen.Error, match="no program `specimen`; install the wheel"):
        specimen.fid("a", "b")
    (tmp_path / "specimen").symlink_to(program)
    assert binary.find()[0] == str(tmp_path / "specimen")
    assert specimen.vendi(desk / "real.npy").n == (60,)


def test_an_answer_that_is_no_json_and_a_program_that_dies_are_named(monkeypatch, tmp_path):
    fake = tmp_path / "specimen"
    monkeypatch.setenv("SPECIMEN_BIN", str(fake))
    for script, expected in [
        ("echo hello", "its answer is no JSON"),
        ("echo lost >&2; exit 3", "^lost$"),
        ("exit 3", "exit code 3 and no message"),
        ("kill -9 $$", "signal 9 and no message"),
    ]:
        fake.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        fake.chmod(0o755)
        with pytest.raises(specimen.Error, match=expected):
            specimen.fid("a", "b")
    fake.write_text("#!/bin/sh\necho []\n", encoding="utf-8")
    with pytest.raises(specimen.Error, match="expected precision, recall"):
        specimen.prdc("a", "b")
