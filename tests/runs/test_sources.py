"""Which code made a run: files, helper modules, scripts; comments do not count."""

import functools
import importlib
import subprocess
import sys
import textwrap
import types

import pytest

from recollect.runs import sources
from recollect.runs.sources import code_of, digest_of_source


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    sources._code_of_one.cache_clear()


def hashes(place, name, thing, files):
    """The code of a thing in a module, read by a fresh process, so to speak."""
    for file, text in files.items():
        target = place / f"{file}.py"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text))
    sources._code_of_one.cache_clear()
    for module in [
        m
        for m in sys.modules
        if getattr(sys.modules[m], "__file__", None) and str(place) in str(sys.modules[m].__file__)
    ]:
        del sys.modules[module]
    importlib.invalidate_caches()
    return code_of([getattr(importlib.import_module(name), thing)])


LEARNER = "class Mine:\n    lr = 0.1\n"


def test_a_changed_file_has_another_hash_and_a_changed_comment_not(place):
    one = hashes(place, "mine", "Mine", {"mine": LEARNER})
    assert list(one) == ["mine"]
    assert hashes(place, "mine", "Mine", {"mine": "# note\n\n" + LEARNER + "    # end\n"}) == one
    assert hashes(place, "mine", "Mine", {"mine": LEARNER.replace("0.1", "0.2")}) != one
    assert hashes(place, "mine", "Mine", {"mine": LEARNER.replace("0.1", "'#'")}) != hashes(
        place, "mine", "Mine", {"mine": LEARNER.replace("0.1", "'#!'")}
    )


def test_a_helper_in_the_same_folder_counts_and_others_do_not(place):
    text = "def f():\n    import numpy, deeper.more\n    from helper import lr\n" + LEARNER
    given = {"mine": text, "helper": "lr = 1\n", "deeper/more": "x = 1\n", "deeper/__init__": "", "other": "y = 1\n"}
    one = hashes(place, "mine", "Mine", given)
    assert sorted(one) == ["deeper", "deeper.more", "helper", "mine"]
    assert hashes(place, "mine", "Mine", given | {"helper": "lr = 2\n"}) != one
    assert hashes(place, "mine", "Mine", given | {"deeper/more": "x = 2\n"}) != one
    assert hashes(place, "mine", "Mine", given | {"other": "y = 2\n"}) == one


def test_relative_imports_of_a_package_are_followed(place):
    given = {
        "pack/__init__": "",
        "pack/sub/__init__": "",
        "pack/sub/mine": "from ..tools import f\nfrom . import near\n" + LEARNER,
        "pack/sub/near": "",
        "pack/tools": "def f(): return 1\n",
    }
    one = hashes(place, "pack.sub.mine", "Mine", given)
    assert sorted(one) == ["pack", "pack.sub", "pack.sub.mine", "pack.sub.near", "pack.tools"]
    assert hashes(place, "pack.sub.mine", "Mine", given | {"pack/tools": "def f(): return 2\n"}) != one


def test_a_base_class_in_another_file_counts(place):
    given = {"base": LEARNER, "mine": "import base\nclass Own(base.Mine):\n    pass\n"}
    one = hashes(place, "mine", "Own", given)
    assert hashes(place, "mine", "Own", given | {"base": LEARNER.replace("0.1", "0.3")}) != one


def test_objects_partials_and_methods_have_the_code_of_their_classes(place):
    one = hashes(place, "mine", "Mine", {"mine": LEARNER + "    def net(self): pass\n"})
    made = sys.modules["mine"].Mine()
    assert code_of([made]) == code_of([made.net]) == code_of([functools.partial(made.net)]) == one


def test_what_a_module_or_an_object_was_given_counts(place):
    """A learner made of functions has no class of its own: its functions are its code."""
    one = hashes(place, "mine", "learn", {"mine": "def learn(batch): pass\n"})
    module = sys.modules["mine"]
    given = types.SimpleNamespace(learn=module.learn)
    given.again = functools.partial(given.learn)
    assert code_of([module]) == code_of([given]) == one
    assert hashes(place, "mine", "learn", {"mine": "def learn(batch): return 1\n"}) != one


def test_ours_and_those_of_libraries_have_versions_instead():
    from sklearn.naive_bayes import GaussianNB

    from recollect.learners.guess import RandomGuess

    assert code_of([GaussianNB(), RandomGuess, len, dict]) == {}


def test_a_file_that_is_edited_while_the_process_lives_is_not_what_it_runs(place):
    one = hashes(place, "mine", "Mine", {"mine": LEARNER})
    (place / "mine.py").write_text(LEARNER.replace("0.1", "9"))
    assert code_of([sys.modules["mine"].Mine]) == one


SCRIPT = """
import helper
SEEDS = {seeds}
RATE = {rate}
def tool(): return RATE
class Mine:
    def learn(self): return tool(), helper.x
if __name__ == "__main__":
    from recollect.runs.sources import code_of
    print(code_of([Mine]))
"""


def test_of_a_script_the_definitions_count_that_are_used(tmp_path):
    def told(seeds=1, rate=1, x=1):
        (tmp_path / "helper.py").write_text(f"x = {x}\n")
        (tmp_path / "script.py").write_text(SCRIPT.format(seeds=seeds, rate=rate))
        return subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, check=True).stdout

    assert b"__main__:Mine" in told()
    assert told(seeds=5) == told()
    assert told(rate=2) != told()
    assert told(x=2) != told()


def test_what_has_no_source_is_unknown():
    made = {}
    exec("class Typed:\n    pass", {"__name__": "typed"}, made)
    assert code_of([made["Typed"]]) == {"typed:Typed": "unknown"}


@pytest.mark.parametrize("source", [b"def f(:", b"\xff\xfe", b"'''", b"# coding: none\n"])
def test_a_file_that_is_no_python_is_hashed_as_it_is(source):
    assert digest_of_source(source) != digest_of_source(source + b"x")
