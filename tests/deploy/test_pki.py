"""Keys and certificates, as Flower and a TLS client take them."""

import socket
import ssl
import stat
import threading

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from typer.testing import CliRunner

from fedadp.cli import app
from fedadp.deploy.pki import Keys
from fedadp.errors import RunError, SettingError


def make(folder, nodes=2, hosts=("fl.example.org", "192.0.2.7")):
    keys = Keys(folder)
    keys.make(nodes, hosts)
    return keys


def test_all_is_made_and_nobody_else_may_read_it(tmp_path):
    folder = tmp_path / "pki"
    keys = make(folder)
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert names == {
        "ca.crt", "ca.key", "server.crt", "server.key", "superexec.secret",
        "nodes/node-0", "nodes/node-0.pub", "nodes/node-1", "nodes/node-1.pub",
    }  # fmt: skip
    assert {path.name for path in keys.made} == {name.split("/")[-1] for name in names}
    for path in folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len((folder / "superexec.secret").read_bytes()) == 32


def test_node_keys_are_what_flower_reads(tmp_path):
    make(tmp_path)
    private = (tmp_path / "nodes" / "node-0").read_bytes()
    assert private.startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    key = serialization.load_ssh_private_key(private, None)
    public = serialization.load_ssh_public_key((tmp_path / "nodes" / "node-0.pub").read_bytes())
    assert isinstance(key.curve, ec.SECP384R1)
    assert key.public_key() == public
    other = serialization.load_ssh_public_key((tmp_path / "nodes" / "node-1.pub").read_bytes())
    assert other != public


def test_the_certificate_is_for_the_host_and_for_loopback(tmp_path):
    make(tmp_path)
    certificate = x509.load_pem_x509_certificate((tmp_path / "server.crt").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["fl.example.org", "localhost"]
    addresses = map(str, names.get_values_for_type(x509.IPAddress))
    assert list(addresses) == ["192.0.2.7", "127.0.0.1", "::1"]


@pytest.mark.parametrize(
    ("name", "welcome"),
    [("fl.example.org", True), ("192.0.2.7", True), ("localhost", True), ("example.org", False)],
)
def test_a_strict_client_takes_it_for_these_names_alone(tmp_path, name, welcome):
    make(tmp_path)
    trust = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
    trust.verify_flags |= ssl.VERIFY_X509_STRICT
    if welcome:
        assert shake_hands(tmp_path, trust, name) is not None
    else:
        with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
            shake_hands(tmp_path, trust, name)


def test_another_authority_is_not_trusted(tmp_path):
    make(tmp_path / "ours")
    make(tmp_path / "other")
    trust = ssl.create_default_context(cafile=str(tmp_path / "other" / "ca.crt"))
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(tmp_path / "ours", trust, "localhost")


def shake_hands(folder, trust, name):
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.crt", folder / "server.key")
    here, there = socket.socketpair()

    def answer():
        try:
            server.wrap_socket(there, server_side=True).close()
        except OSError:
            there.close()

    answering = threading.Thread(target=answer)
    answering.start()
    try:
        with trust.wrap_socket(here, server_hostname=name) as shaken:
            return shaken.version()
    finally:
        here.close()
        answering.join()


def test_what_is_there_is_kept_and_what_is_missing_is_made(tmp_path):
    make(tmp_path, nodes=1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    keys = make(tmp_path, nodes=3)
    assert {path.name for path in keys.made} == {"node-1", "node-1.pub", "node-2", "node-2.pub"}
    assert set(keys.kept) == before.keys()
    assert all(path.read_bytes() == content for path, content in before.items())


def test_a_new_server_certificate_comes_from_the_same_authority(tmp_path):
    make(tmp_path)
    authority = (tmp_path / "ca.crt").read_bytes()
    with pytest.raises(RunError, match=r"server.crt: is not for 'other.example'; remove it"):
        make(tmp_path, hosts=["other.example"])
    (tmp_path / "server.crt").unlink()
    (tmp_path / "server.key").unlink()
    make(tmp_path, hosts=["other.example"])
    assert (tmp_path / "ca.crt").read_bytes() == authority
    trust = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
    assert shake_hands(tmp_path, trust, "other.example") is not None


def test_half_a_pair_is_told(tmp_path):
    make(tmp_path)
    (tmp_path / "nodes" / "node-1.pub").unlink()
    with pytest.raises(RunError, match=r"node-1: is there without node-1.pub; bring that back"):
        make(tmp_path)


@pytest.mark.parametrize("host", ["", "a b", "-x.org", "x..org", 'a";', "x" * 300])
def test_a_host_that_is_no_name_is_refused(tmp_path, host):
    with pytest.raises(SettingError, match="--host"):
        make(tmp_path, hosts=[host])


def test_the_command_says_what_it_wrote_and_what_is_wrong(tmp_path):
    words = ["flower", "pki", str(tmp_path / "k"), "--nodes", "1", "--host", "fl.example.org"]
    first = CliRunner().invoke(app, words)
    assert first.exit_code == 0, first.output
    assert str(tmp_path / "k" / "nodes" / "node-0.pub") in first.stdout
    assert "kept 8 files" in CliRunner().invoke(app, words).stderr
    wrong = CliRunner().invoke(app, ["flower", "pki", str(tmp_path / "k"), "--nodes", "-1"])
    assert wrong.exit_code == 2
    assert "--nodes: -1 is not possible" in wrong.stderr
    (tmp_path / "file").write_text("")
    blocked = CliRunner().invoke(app, ["flower", "pki", str(tmp_path / "file")])
    assert blocked.exit_code == 2
    assert "cannot be written" in blocked.stderr
