"""Downloads from a server of our own: checked, continued, explained where there is none."""

import gzip
import hashlib
import io
import re
import tarfile
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from recollect.errors import NotComputable
from recollect.streams import download
from recollect.streams.catalogue import CATALOGUE, Download, File

pytest.importorskip("pooch")


class Server(HTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked = {}, []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        content = self.server.files.get(self.path)
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        if content is None:
            self.send_error(404)
            return
        start = int(re.match(r"bytes=(\d+)-", asked).group(1)) if asked else 0
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def an_entry(urls, content, name="file.gz", unpack=False, folder="toy"):
    md5 = hashlib.md5(content).hexdigest()
    item = Download(name, tuple(urls), md5, len(content), folder, unpack)
    return replace(
        CATALOGUE["mnist"],
        name="toy",
        folders=(folder,),
        files=(File("file"),),
        downloads=(item,),
        elsewhere=(),
    )


def test_a_file_is_fetched_once(server, tmp_path):
    server.files["/file.gz"] = gzip.compress(b"hello")
    entry = an_entry([f"{server.url}/file.gz"], server.files["/file.gz"])
    seen = []
    assert download.get(entry, tmp_path, lambda *step: seen.append(step)) == tmp_path / "toy"
    assert gzip.decompress((tmp_path / "toy" / "file.gz").read_bytes()) == b"hello"
    size = len(server.files["/file.gz"])
    assert seen[-1] == ("file.gz", size, size)
    assert download.get(entry, tmp_path) == tmp_path / "toy"
    assert len(server.asked) == 1


def test_a_broken_download_goes_on_where_it_was(server, tmp_path):
    content = bytes(range(256)) * 40
    server.files["/file.gz"] = content
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "file.gz.part").write_bytes(content[:5000])
    download.get(an_entry([f"{server.url}/file.gz"], content), tmp_path)
    assert server.asked == ["bytes=5000-"]
    assert (tmp_path / "toy" / "file.gz").read_bytes() == content
    assert [path.name for path in (tmp_path / "toy").iterdir()] == ["file.gz"]


def test_the_next_address_is_tried(server, tmp_path):
    server.files["/good"] = b"right"
    server.files["/other"] = b"wrong"
    urls = [f"{server.url}/absent", f"{server.url}/other", f"{server.url}/good"]
    download.get(an_entry(urls, b"right"), tmp_path)
    assert (tmp_path / "toy" / "file.gz").read_bytes() == b"right"


def test_a_file_with_another_hash_is_an_error_and_not_kept(server, tmp_path):
    server.files["/file.gz"] = b"other bytes"
    with pytest.raises(NotComputable, match="another hash"):
        download.get(an_entry([f"{server.url}/file.gz"], b"right bytes"), tmp_path)
    assert list((tmp_path / "toy").iterdir()) == []


def test_an_archive_is_unpacked_and_dropped(server, tmp_path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        member = tarfile.TarInfo("toy/file")
        member.size = 2
        tar.addfile(member, io.BytesIO(b"ok"))
    server.files["/toy.tar.gz"] = buffer.getvalue()
    entry = an_entry([f"{server.url}/toy.tar.gz"], buffer.getvalue(), "toy.tar.gz", unpack=True)
    assert download.get(entry, tmp_path) == tmp_path / "toy"
    assert (tmp_path / "toy" / "file").read_bytes() == b"ok"
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def test_without_a_network_it_says_what_to_put_where(tmp_path):
    # Nobody listens on port 1.
    entry = an_entry(["http://127.0.0.1:1/file.gz"], b"x")
    with pytest.raises(NotComputable) as caught:
        download.get(entry, tmp_path)
    message = str(caught.value)
    assert caught.value.exit_code == 1
    assert "ConnectionError" in message
    assert (
        f"fetch file.gz (0 MB) from http://127.0.0.1:1/ and put them (as they are) into {tmp_path / 'toy'}" in message
    )
    assert "RECOLLECT_DATA" in message
    assert "\n" not in message


def test_digits_need_no_download():
    assert download.get(CATALOGUE["digits"]) is None
