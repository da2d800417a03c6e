"""The proxy publishes the nodes' API and nothing else: nginx itself says so."""

import http.client
import http.server
import os
import shutil
import ssl
import subprocess
import threading

import pytest

from fedadp.deploy.pki import Keys
from fedadp.deploy.ports import answers, free_ports
from fedadp.deploy.proxy import proxy_file
from fedadp.errors import SettingError

from .test_processes import until

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


class Echo(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        said = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_POST = do_GET = answer  # noqa: N815

    def log_message(self, *_):
        pass


def configure(tmp_path, port, behind):
    keys = tmp_path / "pki"
    Keys(keys).make(0, [])
    site = tmp_path / "fedadp.conf"
    site.write_text(
        proxy_file(keys, "localhost", port, behind).replace("listen ", "listen 127.0.0.1:")
    )
    folders = "".join(
        f"{kind}_temp_path {tmp_path}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = tmp_path / "nginx.conf"
    main.write_text(
        f"daemon off;\npid {tmp_path}/pid;\nerror_log {tmp_path}/error.log;\n"
        + ("user root;\n" if os.geteuid() == 0 else "")
        + f"events {{}}\nhttp {{\naccess_log off;\n{folders}include {site};\n}}\n"
    )
    return keys, [NGINX, "-e", f"{tmp_path}/error.log", "-p", str(tmp_path), "-c", str(main)]


@pytest.fixture
def published(tmp_path):
    port, behind = free_ports(2)
    keys, words = configure(tmp_path, port, behind)
    inner = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    inner.load_cert_chain(keys / "server.crt", keys / "server.key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", behind), Echo)
    server.socket = inner.wrap_socket(server.socket, server_side=True)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    proxy = subprocess.Popen(words)
    try:
        until(lambda: answers(port, keys / "ca.crt"))
        yield port, keys / "ca.crt"
    finally:
        proxy.terminate()
        proxy.wait()
        server.shutdown()
        serving.join()
        server.server_close()


def ask(published, method, path):
    port, authority = published
    trust = ssl.create_default_context(cafile=str(authority))
    line = http.client.HTTPSConnection("localhost", port, context=trust, timeout=10)
    try:
        line.request(method, path, body=b"x" if method == "POST" else None)
        answer = line.getresponse()
        return answer.status, answer.read().decode()
    finally:
        line.close()


@needs_nginx
def test_nginx_accepts_the_configuration(tmp_path):
    _, words = configure(tmp_path, *free_ports(2))
    checked = subprocess.run([*words, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


@needs_nginx
def test_nodes_get_through_and_nobody_else_gets_anywhere(published):
    assert ask(published, "POST", "/v1/fleet/pull-messages") == (200, "/v1/fleet/pull-messages")
    for path in (
        "/v1/control/start-run", "/v1/runtime/acquire-task", "/docs", "/openapi.json", "/",
        "/health",
        "/v1/fleet/", "/v1/fleet/../control/start-run", "/v1/fleet/..%2fcontrol/start-run",
        "/v1/fleet/%2e%2e/control/start-run", "/v1/control/../fleet/pull-messages",
        "//v1/control/start-run", "/v1/fleet/pull-messages/../../control/start-run",
        "/v1/fleet/pull-messages?x=/v1/control", "/V1/control/start-run", "/v1/fleet",
    ):  # fmt: skip
        for method in ("POST", "GET"):
            status, said = ask(published, method, path)
            assert status in (400, 403, 404), (method, path, status, said)
    assert ask(published, "GET", "/v1/fleet/pull-messages")[0] == 403


@needs_nginx
def test_plain_text_gets_no_answer_of_the_servers(published):
    line = http.client.HTTPConnection("localhost", published[0], timeout=10)
    line.request("POST", "/v1/fleet/pull-messages", body=b"x")
    assert line.getresponse().status == 400
    line.close()


def test_a_folder_that_nginx_would_misread_is_refused(tmp_path):
    with pytest.raises(SettingError, match="plainer name"):
        proxy_file(tmp_path / "$HOME", "localhost", 1, 2)
