"""Reads Ed25519 public keys as text, and says of other keys what they are.

Public keys are lines of OpenSSH, ``ssh-ed25519 AAAA... a comment``, as ``ssh-keygen -t ed25519`` writes them, or blocks
of PEM, as ``openssl pkey -pubout`` does (RFC 8410).
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import struct

KEY_TYPE = "ssh-ed25519"
MAKE_KEY = "ssh-keygen -t ed25519 -f bundle_key makes a pair of keys"
FORM = 'a line of the form "ssh-ed25519 AAAA...", or an Ed25519 public key in PEM'
OTHER_KIND = "a public key of another kind, and only Ed25519 keys are used"
_PUBLIC_KEY_TYPES = ("ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-")  # in front of a public key of OpenSSH
_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]*)KEY-----(.*?)-----END \1KEY-----", re.DOTALL)
_OPENSSH_MAGIC = b"openssh-key-v1\0"
_PEM_PUBLIC_HEAD = bytes.fromhex("302a300506032b6570032100")  # in DER, in front of the 32 bytes of the key
_ED25519_IDENTIFIER = bytes.fromhex("06032b6570")  # in DER, among the first bytes of a private key


def public_key(line: str) -> bytes | None:
    """The 32 bytes of a public key in OpenSSH's form, or None for other text."""
    words = line.split()
    if len(words) < 2 or words[0] != KEY_TYPE:
        return None
    blob = _decoded(words[1])
    head = struct.pack(">I", len(KEY_TYPE)) + KEY_TYPE.encode() + struct.pack(">I", 32)
    return blob[len(head) :] if blob.startswith(head) and len(blob) == len(head) + 32 else None


def key_text(key: bytes) -> str:
    """A public key in OpenSSH's form."""
    blob = struct.pack(">I", len(KEY_TYPE)) + KEY_TYPE.encode() + struct.pack(">I", 32) + key
    return f"{KEY_TYPE} {base64.b64encode(blob).decode()}"


def keys_of(text: str) -> list[bytes]:
    """The public keys of a text; what else is in it is left out."""
    blobs = [_decoded(body) for kind, body in _PEM.findall(text) if kind == "PUBLIC "]
    size = len(_PEM_PUBLIC_HEAD)
    of_pem = [blob[size:] for blob in blobs if blob.startswith(_PEM_PUBLIC_HEAD) and len(blob) == size + 32]
    return [key for line in text.splitlines() if (key := public_key(line)) is not None] + of_pem


def is_private_key(text: str) -> bool:
    """Whether the text has a private key of OpenSSH or PEM."""
    return "PRIVATE KEY-----" in text


def is_public_key(text: str) -> bool:
    """Whether the text is a public key of OpenSSH, of any type, or of PEM."""
    return not is_private_key(text) and (text.lstrip().startswith(_PUBLIC_KEY_TYPES) or "PUBLIC KEY-----" in text)


def has_other_public_key(text: str) -> bool:
    """Whether a text without Ed25519 public keys has one of another kind."""
    lines = map(str.strip, text.splitlines())
    return any(is_public_key(line) and not line.startswith(f"{KEY_TYPE} ") for line in lines)


def way_to_public_key(path: str, private_text: str) -> str:
    """What to do where the file at ``path`` has a private key, and its public key is needed."""
    public_path = f"{path}.pub"
    is_there = os.path.isfile(public_path)
    if _is_of_other_type(private_text) or (is_there and not keys_of(_content(public_path))):
        return f"only Ed25519 keys are used: {MAKE_KEY}"
    if is_there:
        return f"name the public key: {public_path}"
    quoted, quoted_public = shlex.quote(path), shlex.quote(public_path)
    if "OPENSSH PRIVATE KEY" in private_text:
        return f"ssh-keygen -y -f {quoted} > {quoted_public}"
    return f"openssl pkey -in {quoted} -pubout -out {quoted_public}"


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read()
    except OSError:  # this user may not read it
        return ""


def problem_of(path: str, text: str) -> str | None:
    """What is wrong with a file of trusted keys; None where nothing is. A file of comments trusts no key."""
    has_keys = bool(keys_of(text))
    if is_private_key(text) and has_keys:
        return f"{path} has a private key beside the public keys: keep it in a file of its own"
    if is_private_key(text):
        return f"{path} has a private key where public keys are expected: {way_to_public_key(path, text)}"
    if has_keys or not any(line and not line.startswith("#") for line in map(str.strip, text.splitlines())):
        return None
    what_it_has = f"{OTHER_KIND}: {MAKE_KEY}" if has_other_public_key(text) else f"no public key, which is {FORM}"
    return f"the keys in {path} are not used: it has {what_it_has}"


def _is_of_other_type(private_text: str) -> bool:
    """Whether it is certain that a private key is not of Ed25519; an encrypted one of PEM does not tell its type."""
    for kind, body in _PEM.findall(private_text):
        blob = _decoded(body)
        if kind == "OPENSSH PRIVATE " and blob.startswith(_OPENSSH_MAGIC):
            return _openssh_type(blob) != KEY_TYPE.encode()
        if kind == "PRIVATE " and blob.startswith(b"\x30"):  # a sequence in DER
            return _ED25519_IDENTIFIER not in blob[:16]
        if kind in ("RSA PRIVATE ", "EC PRIVATE ", "DSA PRIVATE "):
            return True
    return False


def _openssh_type(blob: bytes) -> bytes:
    """The type of a private key in OpenSSH's form (PROTOCOL.key of OpenSSH), which is readable without its passphrase:
    behind the names of the cipher and the derivation of its key, its options, and two numbers."""
    rest = blob[len(_OPENSSH_MAGIC) :]
    for _ in range(3):
        rest = rest[4 + int.from_bytes(rest[:4], "big") :]
    rest = rest[8:]
    return rest[4 : 4 + int.from_bytes(rest[:4], "big")]


def _decoded(body: str) -> bytes:
    """The bytes of a text in base64, which may have line breaks; none where it is no base64."""
    try:
        return base64.b64decode("".join(body.split()), validate=True)
    except ValueError:
        return b""
