"""Who may not be a node: a real SuperLink, and real SuperNodes that it must turn away."""

import subprocess
import time

import pytest
from cryptography.hazmat.primitives import serialization

from fedadp.deploy import roles
from fedadp.deploy.control import Control, environment
from fedadp.deploy.pki import Keys
from fedadp.deploy.place import Place
from fedadp.deploy.ports import answers, free_ports
from fedadp.deploy.processes import end, mark, marked

CA = "root_certificates"
SECONDS = 120  # for what takes ten on an idle machine


def until(holds, seconds=SECONDS):
    stop = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < stop, "it never came"
        time.sleep(0.2)


class Server:
    """A SuperLink with TLS and node authentication, and one node that may take part."""

    def __init__(self, folder):
        self.place, self.keys = Place(folder), folder / "pki"
        self.children = []
        self.place.make()
        Keys(self.keys).make(2, [])
        Keys(folder / "other").make(2, [])
        self.port, *self._ports = free_ports(12)
        self.control = Control(self.place.flower, mark(self.place.path, "flwr"))
        roles.connection(self.place, self.keys, self.port)

    def start(self):
        self.begin("superlink", roles.superlink(self.place, self.keys, self.port))
        until(lambda: answers(self.port, self.keys / "ca.crt"))
        self.control.answer(self.control.register(self.keys / "nodes" / "node-0.pub"))

    def begin(self, role, words):
        with (self.place.logs / f"{role}.log").open("wb") as out:
            child = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
                env={**environment(self.place.flower), **mark(self.place.path, role)},
            )  # fmt: skip
        self.children.append(child)
        return child

    def node(self, role, number=0, **changes):
        """A SuperNode; `changes` replace what an option says, or with None leave it out."""
        address = f"{roles.LOOPBACK}:{self.port}"
        words = list(roles.node(self.place, self.keys, number, 2, address, self._ports.pop()))
        for option, value in changes.items():
            at = words.index("--" + option.replace("_", "-"))
            words[at : at + 2] = [] if value is None else [words[at], str(value)]
        if "--root-certificates" not in words:
            words.append("--insecure")
        return self.begin(role, words)

    def said(self, role):
        return " ".join((self.place.logs / f"{role}.log").read_text(errors="replace").split())

    def online(self):
        return list(self.control.nodes().values()).count("online")


@pytest.fixture
def server(tmp_path):
    found = Server(tmp_path)
    try:
        found.start()
        yield found
    finally:
        end(found.place.path)
        for child in found.children:
            child.wait()
    assert list(marked(found.place.path)) == []


def pem(path):
    """The same key in another form: Flower wants the one of OpenSSH."""
    key = serialization.load_ssh_private_key(path.read_bytes(), None)
    path.with_suffix(".pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )  # fmt: skip
    return path.with_suffix(".pem")


def test_only_a_registered_key_over_tls_of_our_authority_gets_in_and_only_once(server):
    key, own = "auth_supernode_private_key", server.keys / "nodes" / "node-0"
    other = server.place.app / "other"
    good = server.node("good")
    until(lambda: server.online() == 1)
    refused = {
        "unregistered": ({"number": 1}, "Failed to activate SuperNode"),
        "stranger": ({key: other / "nodes" / "node-1"}, "Failed to activate SuperNode"),
        "the same key": ({}, "Failed to activate SuperNode"),
        "no key": ({key: None}, "must be registered"),
        "another form": ({key: pem(own)}, "Unable to parse the private key"),
        "another authority": ({CA: other / "ca.crt"}, "CERTIFICATE_VERIFY_FAILED"),
        "plain text": ({CA: None}, "TLS is not enabled"),
    }
    server.node("plain text, no key", **{CA: None, key: None})
    started = {role: server.node(role, **changes) for role, (changes, _) in refused.items()}
    for role, process in started.items():
        assert process.wait(timeout=SECONDS) == 1, role
        assert refused[role][1] in server.said(role), (role, server.said(role))
    until(lambda: "Connection attempt failed" in server.said("plain text, no key"))
    assert good.poll() is None
    assert list(server.control.nodes().values()) == ["online"]
