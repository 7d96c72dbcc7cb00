"""Connections through a SOCKS5 proxy, and none beside it."""

import socket
import socketserver
import subprocess
import sys
import threading

import pytest

import omr
from conftest import HIDDEN, TINY
from omr import pdq

SERVER = f"{HIDDEN}:7600"
URL = f"http://{SERVER}"


class Handler(socketserver.BaseRequestHandler):
    """A connection through the proxy (RFC 1928, RFC 1929)."""

    def handle(self):
        _, count = self.read(2)
        methods = self.read(count)
        assert 2 in methods
        self.request.sendall(b"\x05\x02")
        name = self.read(self.read(2)[1]).decode()
        self.read(self.read(1)[0])
        self.request.sendall(b"\x01\x00")
        *head, kind = self.read(4)
        assert head == [5, 1, 0] and kind in (1, 3)
        host = socket.inet_ntoa(self.read(4)) if kind == 1 else self.read(self.read(1)[0]).decode()
        port = int.from_bytes(self.read(2), "big")
        self.server.seen.append((name, f"{host}:{port}"))
        with socket.create_connection(self.server.to) as far:
            self.request.sendall(b"\x05\x00\x00\x01" + bytes(6))
            back = threading.Thread(target=pump, args=(far, self.request))
            back.start()
            pump(self.request, far)
            back.join()

    def read(self, count):
        data = bytearray()
        while len(data) < count:
            more = self.request.recv(count - len(data))
            assert more
            data += more
        return bytes(data)


def pump(source, sink):
    """Copies what comes from one connection to another until either ends."""
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Proxy(socketserver.ThreadingTCPServer):
    """A proxy that connects to one server, whatever server is asked for, and records names and servers."""

    daemon_threads = True

    def __init__(self, url):
        super().__init__(("127.0.0.1", 0), Handler)
        host, port = url.removeprefix("http://").split(":")
        self.to, self.seen = (host, int(port)), []
        self.url = f"socks5h://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def proxy(url):
    with Proxy(url) as proxy:
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        yield proxy
        proxy.shutdown()
        thread.join()


def test_calls_go_through_the_proxy_which_resolves_the_server(url, proxy):
    # Nothing comes to a server of this name beside the proxy.
    client = omr.Client(URL, proxy=proxy.url)
    before = client.board()
    assert before.board_id == omr.Client(url).board().board_id
    client.post(omr.Identity.generate(TINY).address, b"hello")
    omr.Client(URL, proxy=proxy.url).board()
    names, servers = zip(*proxy.seen)
    assert set(servers) == {SERVER}
    # One for each client.
    assert len(names) == len(set(names)) == 2


def test_all_connections_of_an_inbox_go_through_the_proxy(proxy, tmp_path):
    home = tmp_path / "ann"
    with omr.Inbox.create(home, URL, proxy=proxy.url) as ann:
        ann.send(ann.address, b"to myself")
        assert [letter.data for letter in ann.take()] == [b"to myself"]
        ann.post_canary()
    with omr.Inbox.open(home, proxy=proxy.url) as ann:
        assert list(ann.take()) == []
    with omr.Inbox.register(home, URL, proxy=proxy.url) as ann:
        with ann.watch(every=0.1, count=1) as watch:
            assert list(watch) == []
    names, servers = zip(*proxy.seen)
    assert set(servers) == {SERVER} and len(names) == len(set(names)) > 5


@pytest.mark.parametrize(
    "wrong", ["", "127.0.0.1:9050", "socks5://127.0.0.1:9050", "http://127.0.0.1:9050", "socks5h://127.0.0.1"]
)
def test_what_is_no_proxy_is_refused(wrong, url, tmp_path):
    calls = [
        lambda: omr.Client(url, proxy=wrong),
        lambda: pdq.Server(url, proxy=wrong),
        lambda: omr.Inbox.create(tmp_path / "new", url, proxy=wrong),
        lambda: omr.Inbox.register(tmp_path / "new", url, proxy=wrong),
        lambda: omr.Inbox.open(tmp_path / "new", proxy=wrong),
    ]
    for call in calls:
        with pytest.raises(omr.ServerError, match="expected a proxy such as socks5h://127.0.0.1:9050") as error:
            call()
        assert f'found "{wrong}"' in str(error.value)
    assert not (tmp_path / "new").exists()
    with pytest.raises(omr.ServerError) as error:
        omr.Client(url, proxy="socks5h://me:secret@host")
    assert "secret" not in str(error.value)


CALLS = """
import concurrent.futures, sys
import omr
from omr import pdq

home, new, direct, through = sys.argv[1:]
inbox = omr.Inbox.open(home, proxy=through)
calls = [
    omr.Client(direct, proxy=through).board,
    pdq.Server(direct, proxy=through).tables,
    lambda: omr.Inbox.create(new, direct, proxy=through),
    lambda: omr.Inbox.register(home, direct, proxy=through),
    inbox.take,
]
with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
    done = [pool.submit(call) for call in calls]
    print("called", flush=True)
"""


def test_nothing_goes_beside_a_proxy_that_is_gone(url, tmp_path):
    """Calls try a proxy that is gone for a minute, as it may need a while, and make no other connection."""
    with socket.socket() as gone:
        gone.bind(("127.0.0.1", 0))
        through = f"socks5h://127.0.0.1:{gone.getsockname()[1]}"
    home = tmp_path / "ann"
    # A server that would see any connection that is made to it.
    with socket.create_server(("127.0.0.1", 0)) as server:
        direct = f"http://127.0.0.1:{server.getsockname()[1]}"
        omr.Inbox.create(home, url).close()
        args = [sys.executable, "-c", CALLS, str(home), str(tmp_path / "new"), direct, through]
        with subprocess.Popen(args, stdout=subprocess.PIPE, text=True) as calling:
            assert calling.stdout.readline() == "called\n"
            server.settimeout(5)
            with pytest.raises(TimeoutError):
                server.accept()
            assert calling.poll() is None, "it still tries"
            calling.kill()
