"""Which bundles may be used: those of root and of the same user, and those that are signed by a trusted key."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings

import pytest
from bundle_kit import artifact_of, as_user, kernel_of, reachable_for_all, written

from tilecore.bundles import signatures, trust
from tilecore.bundles.file import BundleFile
from tilecore.bundles.format import BundleError
from tilecore.bundles.keys import key_text, keys_of, public_key
from tilecore.bundles.signatures import read_private_key, trusted_keys
from tilecore.bundles.trust import UntrustedError, WrongSignatureError, require_trusted
from tilecore.cache import CacheWarning
from tilecore.compilation_cache.warning import WarnOnce
from tilecore.errors import CacheError

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files to other users")
STRANGER = 12345


@pytest.fixture(autouse=True)
def no_keys(monkeypatch, tmp_path):
    """The user who runs the tests trusts no key."""
    (tmp_path / "trusted_keys").touch(mode=0o644)
    monkeypatch.setenv("TILECORE_TRUSTED_KEYS", str(tmp_path / "trusted_keys"))


@pytest.fixture
def key():
    return private_key()


def private_key():
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519", reason="needs cryptography")
    return ed25519.Ed25519PrivateKey.generate()


def public_of(key):
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def refusal(path, **options):
    with pytest.raises(UntrustedError) as caught:
        require_trusted(BundleFile(path), **options)
    return str(caught.value)


def test_an_own_bundle_is_trusted(tmp_path):
    require_trusted(BundleFile(written(tmp_path / "a.tcb", [kernel_of(1)])))


@pytest.mark.parametrize("mode", [0o666, 0o664, 0o602])
def test_one_that_others_can_write_to_is_not(tmp_path, mode):
    path = written(tmp_path / "a.tcb", [kernel_of(1)])
    path.chmod(mode)
    text = refusal(path)
    assert "can be written to by others" in text
    assert f"chmod -R go-w {path}" in text
    assert "--sign" in text


@root_only
def test_one_of_another_user_is_not(tmp_path):
    path = written(tmp_path / "a.tcb", [kernel_of(1)])
    os.chown(path, STRANGER, STRANGER)
    text = refusal(path)
    assert f"belongs to user {STRANGER}" in text
    assert "(0)" in text  # who this process runs as
    assert "it is not signed" in text


@root_only
def test_one_of_root_is_trusted_by_others(tmp_path):
    path = written(tmp_path / "a.tcb", [kernel_of(1)])
    reachable_for_all(tmp_path)
    reason = as_user(STRANGER, lambda: require_trusted(BundleFile(path)))
    assert reason == "it belongs to user root (0), and nobody else can write to it"
    path.chmod(0o646)
    assert "can be written to by others (mode 646)" in as_user(STRANGER, lambda: require_trusted(BundleFile(path)))


def test_a_signed_bundle_of_anybody_is_trusted_by_its_key(tmp_path, key):
    path = written(tmp_path / "a.tcb", [kernel_of(1)], key)
    path.chmod(0o666)  # by its owner and mode it is not
    text = refusal(path)
    assert f"it is signed by {key_text(BundleFile(path).signature and public_key(public_of(key)))}" in text
    assert "TILECORE_TRUSTED_KEYS" in text
    trusted = tmp_path / "trusted_keys"
    trusted.write_text(f"# the builders\n\nssh-rsa AAAA no\n{public_of(key)} builder@example\n")
    file = BundleFile(path)
    require_trusted(file)
    assert file.artifact(file.index.kernels[0]) == artifact_of(1)


def test_a_file_of_keys_that_others_can_write_to_is_not_used(tmp_path, key):
    path = written(tmp_path / "a.tcb", [kernel_of(1)], key)
    path.chmod(0o666)
    (tmp_path / "trusted_keys").write_text(public_of(key))
    (tmp_path / "trusted_keys").chmod(0o666)
    assert "the keys in" in refusal(path)


def test_a_bundle_that_was_changed_after_it_was_signed_is_refused(tmp_path, key):
    signed = written(tmp_path / "a.tcb", [kernel_of(1)], key).read_bytes().split(b"\n", 2)
    other = written(tmp_path / "b.tcb", [kernel_of(2)]).read_bytes().split(b"\n", 2)
    path = tmp_path / "c.tcb"
    path.write_bytes(b"\n".join([other[0], signed[1], other[2]]))
    path.chmod(0o644)
    (tmp_path / "trusted_keys").write_text(public_of(key))
    for options in ({}, {"signed_by": public_of(key)}):  # although it is an own file
        with pytest.raises(WrongSignatureError, match=r"its signature by ssh-ed25519 .* is wrong"):
            require_trusted(BundleFile(path), **options)


def test_a_key_can_be_demanded(tmp_path, key):
    path = written(tmp_path / "a.tcb", [kernel_of(1)], key)
    require_trusted(BundleFile(path), signed_by=public_of(key))
    (tmp_path / "key.pub").write_text(public_of(key))
    require_trusted(BundleFile(path), signed_by=tmp_path / "key.pub")
    other = public_of(private_key())
    assert "signed by ssh-ed25519" in refusal(path, signed_by=other)
    assert "it is not signed" in refusal(written(tmp_path / "b.tcb", [kernel_of(1)]), signed_by=other)
    for wrong in (tmp_path / "none", "no key", tmp_path / "a.tcb"):
        with pytest.raises(CacheError, match="signed_by"):
            require_trusted(BundleFile(path), signed_by=wrong)


def test_keys_of_ssh_keygen(tmp_path):
    """The form of the keys is OpenSSH's, as its own program writes it."""
    pytest.importorskip("cryptography")
    path = tmp_path / "bundle_key"
    try:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    except FileNotFoundError:
        pytest.skip("needs ssh-keygen")
    key = read_private_key(str(path))
    assert public_key((tmp_path / "bundle_key.pub").read_text()) == public_key(public_of(key))
    assert key_text(public_key(public_of(key))) == public_of(key)
    bundle = written(tmp_path / "a.tcb", [kernel_of(1)], key)
    require_trusted(BundleFile(bundle), signed_by=f"{path}.pub")
    with pytest.raises(CacheError, match="cannot sign a bundle") as caught:
        read_private_key(f"{path}.pub")
    assert f"help: name the private key: {path}" in str(caught.value)
    with pytest.raises(CacheError, match="cannot check a signature") as caught:
        require_trusted(BundleFile(bundle), signed_by=path)
    assert f"help: name the public key: {path}.pub" in str(caught.value)
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f", f"{path}_rsa"], check=True)
    with pytest.raises(CacheError, match="is not an Ed25519 key"):
        read_private_key(f"{path}_rsa")


PRIVATE_KEYS = [
    f"-----BEGIN {kind}PRIVATE KEY-----\nc2VjcmV0\n-----END {kind}PRIVATE KEY-----\n"
    for kind in ("OPENSSH ", "", "ENCRYPTED ")
]


@pytest.mark.parametrize(
    "text",
    [
        key_text(bytes(32)),
        f"\n{key_text(bytes(32))} me@example\n",
        "ssh-rsa AAAA me@example\n",
        "ecdsa-sha2-nistp256 AAAA\n",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
    ],
)
def test_a_public_key_signs_nothing(tmp_path, monkeypatch, text):
    """Without ``cryptography``, too. The private key is named where it is there."""
    monkeypatch.setitem(sys.modules, "cryptography", None)
    (tmp_path / "key.pub").write_text(text)
    with pytest.raises(CacheError, match=r"key\.pub cannot sign a bundle") as caught:
        read_private_key(str(tmp_path / "key.pub"))
    assert caught.value.found.startswith("a public key")
    assert caught.value.expected.startswith("the private key")
    assert caught.value.hint.startswith("ssh-keygen -t ed25519")
    (tmp_path / "key").touch()
    with pytest.raises(CacheError) as caught:
        read_private_key(str(tmp_path / "key.pub"))
    assert caught.value.hint == f"name the private key: {tmp_path / 'key'}"


@pytest.mark.parametrize("text", PRIVATE_KEYS)
def test_a_private_key_checks_nothing(tmp_path, monkeypatch, text):
    path = tmp_path / "my key"
    path.write_text(text)
    file = BundleFile(written(tmp_path / "a.tcb", [kernel_of(1)]))
    with pytest.raises(CacheError, match="cannot check a signature") as caught:
        require_trusted(file, signed_by=path)
    assert caught.value.found.startswith("a private key")
    of_openssh, of_pem = (
        f"ssh-keygen -y -f '{path}' > '{path}.pub'",
        f"openssl pkey -in '{path}' -pubout -out '{path}.pub'",
    )
    assert caught.value.hint == (of_openssh if "OPENSSH" in text else of_pem)
    with pytest.raises(CacheError, match="the text of a private key") as of_text:
        require_trusted(file, signed_by=text)
    assert "c2VjcmV0" not in str(of_text.value), "the key is shown"
    monkeypatch.setenv("TILECORE_TRUSTED_KEYS", str(path))
    warning = f"{path} has a private key where public keys are expected: {caught.value.hint}"
    with pytest.warns(CacheWarning, match=re.escape(warning)):
        require_trusted(file)


ONLY_ED25519 = "only Ed25519 keys are used: ssh-keygen -t ed25519 -f bundle_key makes a pair of keys"


def pair_of(algorithm, form):
    """The texts of a private and of its public key. form: OpenSSH, PEM, or the old PEM of an algorithm."""
    pytest.importorskip("cryptography", reason="needs cryptography")
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    makers = {
        "Ed25519": private_key,
        "RSA": lambda: rsa.generate_private_key(65537, 1024),
        "EC": lambda: ec.generate_private_key(ec.SECP256R1()),
    }
    key = makers[algorithm]()
    private_format = {"OpenSSH": PrivateFormat.OpenSSH, "PEM": PrivateFormat.PKCS8}.get(
        form, PrivateFormat.TraditionalOpenSSL
    )
    public = (
        (Encoding.OpenSSH, PublicFormat.OpenSSH)
        if form == "OpenSSH"
        else (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    private_text = key.private_bytes(Encoding.PEM, private_format, NoEncryption()).decode()
    return private_text, key.public_key().public_bytes(*public).decode()


OTHER_KINDS = [("RSA", "OpenSSH"), ("RSA", "PEM"), ("RSA", "old"), ("EC", "OpenSSH"), ("EC", "PEM"), ("EC", "old")]


@pytest.mark.parametrize(("algorithm", "form"), OTHER_KINDS)
def test_keys_of_another_algorithm(tmp_path, monkeypatch, algorithm, form):
    """Neither the private nor the public one is of use, and the public one is not named as if it were."""
    private_text, public_text = pair_of(algorithm, form)
    path, public_path = tmp_path / "key", tmp_path / "key.pub"
    path.write_text(private_text)
    public_path.write_text(public_text)
    file = BundleFile(written(tmp_path / "a.tcb", [kernel_of(1)]))
    with pytest.raises(CacheError, match="cannot check a signature") as caught:
        require_trusted(file, signed_by=path)
    assert caught.value.hint == ONLY_ED25519
    for given in (public_path, public_text):
        with pytest.raises(CacheError, match="has no Ed25519 public key") as caught:
            require_trusted(file, signed_by=given)
        assert caught.value.found == "a public key of another kind, and only Ed25519 keys are used"
        assert ONLY_ED25519.endswith(caught.value.hint)
    for trusted, told in (
        (path, "has a private key where public keys are"),
        (public_path, "are not used: it has a pub"),
    ):
        monkeypatch.setenv("TILECORE_TRUSTED_KEYS", str(trusted))
        with pytest.warns(CacheWarning, match=told) as warned:
            require_trusted(file)
        assert str(warned[0].message).endswith(ONLY_ED25519)


def test_keys_in_pem(tmp_path, monkeypatch):
    """What signs has a public key that checks: the hint's command writes it."""
    private_text, public_text = pair_of("Ed25519", "PEM")
    path, public_path = tmp_path / "pem.key", tmp_path / "pem.key.pub"
    path.write_text(private_text)
    bundle = written(tmp_path / "a.tcb", [kernel_of(1)], read_private_key(str(path)))
    with pytest.raises(CacheError) as caught:
        require_trusted(BundleFile(bundle), signed_by=path)
    try:
        subprocess.run(caught.value.hint, shell=True, check=True)
    except subprocess.CalledProcessError:
        pytest.skip("needs openssl")
    assert public_path.read_text() == public_text
    for given in (public_path, public_text, os.fsencode(public_path)):
        require_trusted(BundleFile(bundle), signed_by=given)
    with pytest.raises(CacheError) as caught:
        require_trusted(BundleFile(bundle), signed_by=path)
    assert caught.value.hint == f"name the public key: {public_path}"
    bundle.chmod(0o666)
    monkeypatch.setenv("TILECORE_TRUSTED_KEYS", str(public_path))
    require_trusted(BundleFile(bundle))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\x7fELF\0\xff", "no public key, which is a line of the form"),
        ("ssh-ed25519 AAAA".encode("utf-16"), "no public key, which is a line of the form"),
        (b"# keys\nssh-rsa AAAA me\n", f"a public key of another kind, and {ONLY_ED25519}"),
        (b"ssh-ed25519 !!\n", "no public key, which is a line of the form"),
        (b"", None),
        (b"# no key yet\n\n", None),
        (b"\xef\xbb\xbf" + key_text(bytes(32)).encode(), None),
        (f"ssh-rsa AAAA\n{key_text(bytes(32))}\n".encode(), None),
    ],
)
def test_a_file_of_trusted_keys_without_a_key(tmp_path, monkeypatch, content, told):
    """One that is empty, or has comments only, is fine."""
    path = tmp_path / "keys"
    path.write_bytes(content)
    monkeypatch.setenv("TILECORE_TRUSTED_KEYS", str(path))
    (problem,) = trusted_keys()[1] or (None,)
    assert problem == told or str(problem).startswith(f"the keys in {path} are not used: it has {told}")


def test_a_private_key_beside_public_ones(tmp_path, monkeypatch):
    """The public keys are used; no file is named that is not there."""
    path = tmp_path / "both"
    path.write_text(f"{PRIVATE_KEYS[0]}{key_text(bytes(32))}\n")
    monkeypatch.setenv("TILECORE_TRUSTED_KEYS", str(path))
    problem = f"{path} has a private key beside the public keys: keep it in a file of its own"
    assert trusted_keys() == ({bytes(32)}, [problem])


@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nowhere", "TILECORE_TRUSTED_KEYS names {path}, which does not exist"),
        ("folder", "the keys in {path} cannot be read: Is a directory"),
        (os.devnull, "the keys in {path} are not used: it is no regular file"),
    ],
)
def test_files_of_trusted_keys_that_cannot_be_used(tmp_path, monkeypatch, name, problem, is_signed):
    """A warning, once, where the bundle is trusted nevertheless, else a part of the error."""
    (tmp_path / "folder").mkdir()
    place = tmp_path / name
    names = os.pathsep.join([str(tmp_path / "trusted_keys"), str(place)])
    monkeypatch.setenv("TILECORE_TRUSTED_KEYS", names)
    monkeypatch.setattr(trust, "_warn_once", WarnOnce())
    path = written(tmp_path / "a.tcb", [kernel_of(1)], private_key() if is_signed else None)
    text = problem.format(path=place)
    with pytest.warns(CacheWarning, match=text):
        require_trusted(BundleFile(path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_trusted(BundleFile(path))
        path.chmod(0o666)
        assert f"found: {text}" in refusal(path)


def test_the_default_files_of_trusted_keys_need_not_exist(tmp_path, monkeypatch, key):
    monkeypatch.delenv("TILECORE_TRUSTED_KEYS")
    monkeypatch.setattr(signatures.settings, "default_trusted_keys", lambda: (str(tmp_path / "nowhere"),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_trusted(BundleFile(written(tmp_path / "a.tcb", [kernel_of(1)], key)))


def test_without_the_package(tmp_path, monkeypatch):
    """An own bundle with a signature works without ``cryptography``; where the signature matters, the error says so."""
    signature = b"ed25519 " + b"A" * 43 + b"= " + b"A" * 86 + b"=="
    data = written(tmp_path / "a.tcb", [kernel_of(1)]).read_bytes().split(b"\n", 2)
    path = tmp_path / "a.tcb"
    path.write_bytes(b"\n".join([data[0], signature, data[2]]))
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    key = key_text(bytes(32))
    require_trusted(BundleFile(path))
    (tmp_path / "trusted_keys").write_text(key)
    require_trusted(BundleFile(path))
    path.chmod(0o666)
    with pytest.raises(CacheError, match="cryptography") as caught:
        require_trusted(BundleFile(path))
    assert "tilecore[sign]" in str(caught.value)
    with pytest.raises(CacheError, match="cryptography"):
        require_trusted(BundleFile(path), signed_by=key)


LINES = [b"", b"ed25519", b"ed25519 AAAA AAAA", b"rsa A B", b"unsigned ", b"ed25519 \xff \xfe"]


@pytest.mark.parametrize("line", LINES)
def test_a_damaged_line_of_a_signature(tmp_path, line):
    data = written(tmp_path / "a.tcb", [kernel_of(1)]).read_bytes().split(b"\n", 2)
    (tmp_path / "a.tcb").write_bytes(b"\n".join([data[0], line, data[2]]))
    with pytest.raises(BundleError, match="damaged line of its signature"):
        require_trusted(BundleFile(tmp_path / "a.tcb"))


def test_public_keys_of_other_text():
    for text in ("", "ssh-ed25519", "ssh-ed25519 !!", "ssh-ed25519 AAAA", "ssh-rsa AAAA", key_text(b"k" * 31)):
        assert public_key(text) is None
    assert public_key(key_text(bytes(range(32)))) == bytes(range(32))
    assert keys_of(f"no\n{key_text(b'k' * 32)} me\n") == [b"k" * 32]
