import json

import pytest
from typer.testing import CliRunner

from recollect.cli.data import app
from recollect.errors import NotComputable, UsageError
from recollect.streams.catalogue import CATALOGUE
from tests.streams.files import write_mnist


def call(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_list(tmp_path, shrink):
    write_mnist(tmp_path / "MNIST" / "raw")
    text = call("list", "--data", tmp_path).output
    assert all(name in text for name in CATALOGUE)
    assert "MNIST/raw" in text
    assert "not here" in text
    entries = json.loads(call("list", "--data", tmp_path, "--json").output)
    assert {e["name"]: e["folder"] for e in entries}["mnist"] == str(tmp_path / "MNIST" / "raw")
    assert {e["name"]: e["folder"] for e in entries}["cifar10"] is None


def test_verify_exits_with_1_where_something_differs(tmp_path, shrink):
    shrink("mnist", n_train=40, n_test=20)
    write_mnist(tmp_path / "MNIST" / "raw")
    result = call("verify", "mnist", "--data", tmp_path)
    assert result.exit_code == 1
    assert "mnist: same counts, other hash" in result.output
    (verdict,) = json.loads(call("verify", "mnist", "--data", tmp_path, "--json").output)
    assert (verdict["counts"], verdict["identical"]) == (True, False)


def test_verify_what_is_here(tmp_path):
    pytest.importorskip("sklearn")
    result = call("verify", "--data", tmp_path)
    assert result.exit_code == 0 or "fashion-mnist" in result.output
    assert "digits: 1,438 + 359 samples" in result.output


def test_get_what_is_here_or_needs_nothing(tmp_path):
    write_mnist(tmp_path / "MNIST" / "raw")
    assert f"mnist is in {tmp_path / 'MNIST' / 'raw'}." in call("get", "mnist", "--data", tmp_path).output
    assert "nothing to fetch" in call("get", "digits").output


def test_get_without_a_network(tmp_path, monkeypatch):
    pytest.importorskip("pooch")
    requests = pytest.importorskip("requests")

    def no_network(*_, **__):
        raise requests.ConnectionError

    monkeypatch.setattr(requests, "get", no_network)
    with pytest.raises(NotComputable, match=r"fetch cifar-100-python\.tar\.gz \(169 MB\).* unpack it to"):
        call("get", "cifar100", "--data", tmp_path)


@pytest.mark.parametrize("words", [("get", "cifar"), ("verify", "cifar"), ("list", "--data", "absent")])
def test_wrong_use(words):
    with pytest.raises(UsageError):
        call(*words)


def test_every_command_has_an_example():
    for command in ("list", "get", "verify"):
        assert f"Example: recollect data {command}" in call(command, "--help").output
