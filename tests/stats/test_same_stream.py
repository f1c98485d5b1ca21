"""The guard against comparing different streams."""

import pytest

from recollect.errors import NotComputable
from recollect.stats import require_same_stream


def test_the_same_stream_passes_without_a_word():
    assert require_same_stream("ab", "ab") is None
    assert require_same_stream(["ab", "ab"], ["ab"]) is None
    assert require_same_stream({1: "ab", 2: "cd"}, {2: "cd", 1: "ab"}) is None


@pytest.mark.parametrize(("a", "b"), [("ab", "cd"), (["ab"], ["ab", "cd"]), ({1: "ab", 2: "cd"}, {1: "cd", 2: "ab"})])
def test_other_streams_are_refused_unless_told(a, b):
    with pytest.raises(NotComputable, match=r"different streams.*(ab and cd|cd and ab)"):
        require_same_stream(a, b)
    assert require_same_stream(a, b, allow=True) == "compared although the streams differ"


@pytest.mark.parametrize(("a", "b"), [(None, "ab"), (["ab", None], ["ab"]), ({1: ""}, {1: "ab"})])
def test_unknown_streams_are_noted(a, b):
    assert "could not be checked" in require_same_stream(a, b)
