"""Checks and makes the signatures of bundles: Ed25519 (RFC 8032) by the package ``cryptography``."""

from __future__ import annotations

import base64
import getpass
import os
import stat
import sys
from dataclasses import dataclass
from typing import Any

from tilecore import settings
from tilecore.bundles.format import ALGORITHM, UNSIGNED, BundleError
from tilecore.bundles.keys import MAKE_KEY, is_public_key, keys_of, problem_of
from tilecore.compilation_cache.layout import is_trusted
from tilecore.compilation_cache.owners import why_not_trusted
from tilecore.errors import CacheError

_PACKAGE = "the package cryptography is needed for signed bundles"
_INSTALL = "pip install 'tilecore[sign]'"
_PURPOSE = b"tilecore bundle\0"  # in front of what is signed, so that a signature has no other use


@dataclass(frozen=True)
class Signature:
    """The signature line of a bundle: the public key and the signature, as bytes."""

    key: bytes
    signature: bytes


def parse_signature(line: bytes) -> Signature | None:
    """The signature; None of an unsigned bundle. Raises BundleError for another line."""
    if line == UNSIGNED:
        return None
    words = line.split(b" ")
    try:
        key, signature = (base64.b64decode(word, validate=True) for word in words[1:])
    except ValueError:
        key = signature = b""
    if words[0] != ALGORITHM or len(key) != 32 or len(signature) != 64:
        raise BundleError("it has a damaged line of its signature", expected="unsigned, or ed25519 KEY SIGNATURE")
    return Signature(key, signature)


def signature_line(first_line: bytes, private_key: Any) -> bytes:
    """The second line of a bundle whose first line is signed by a private key of ``cryptography``."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = private_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    signature = private_key.sign(_PURPOSE + first_line)
    return b" ".join((ALGORITHM, base64.b64encode(public), base64.b64encode(signature)))


def has_signed(signature: Signature, first_line: bytes) -> bool:
    """Whether the owner of the signature's key signed this first line. Raises CacheError without ``cryptography``."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise CacheError(_PACKAGE, hint=_INSTALL) from None
    try:
        Ed25519PublicKey.from_public_bytes(signature.key).verify(signature.signature, _PURPOSE + first_line)
    except (InvalidSignature, ValueError):
        return False
    return True


def read_private_key(path: str) -> Any:
    """The Ed25519 private key in a file of OpenSSH or PEM. Asks for its passphrase on a terminal. Raises CacheError."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise CacheError(f"the key {path} cannot be read: {error.strerror or error}") from error
    if is_public_key(data.decode("utf-8", "replace")):
        private_path = path.removesuffix(".pub")
        is_there = private_path != path and os.path.isfile(private_path)
        raise CacheError(
            f"{path} cannot sign a bundle",
            found="a public key, which only checks signatures",
            expected="the private key, which ssh-keygen wrote to the file of the same name without .pub",
            hint=f"name the private key: {private_path}" if is_there else MAKE_KEY,
        )
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key
    except ImportError:
        raise CacheError(_PACKAGE, hint=_INSTALL) from None
    load: Any = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in data else load_pem_private_key
    key: Any = None
    try:
        try:
            key = load(data, None)
        except TypeError:  # it is encrypted
            if not sys.stdin.isatty():
                raise ValueError("it has a passphrase, and there is no terminal to ask for it") from None
            key = load(data, getpass.getpass(f"passphrase of {path}: ").encode())
    except Exception as error:
        raise CacheError(f"{path} is not a private key that can be used: {error}", hint=MAKE_KEY) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise CacheError(f"{path} is not an Ed25519 key", found=type(key).__name__, hint=MAKE_KEY)
    return key


def trusted_keys() -> tuple[set[bytes], list[str]]:
    """The keys in the files of TILECORE_TRUSTED_KEYS, and why some of the files are not used. The default files need
    not exist."""
    keys: set[bytes] = set()
    problems: list[str] = []
    named_paths = settings.trusted_keys()
    for path in settings.default_trusted_keys() if named_paths is None else named_paths:
        try:
            with open(path, encoding="utf-8-sig", errors="replace") as file:
                facts = os.fstat(file.fileno())
                if not stat.S_ISREG(facts.st_mode):
                    problems.append(f"the keys in {path} are not used: it is no regular file")
                elif not is_trusted(facts, of_root=True):
                    problems.append(f"the keys in {path} are not used: {why_not_trusted(path, facts)}")
                else:
                    text = file.read()
                    keys.update(keys_of(text))
                    problem = problem_of(path, text)
                    problems += [] if problem is None else [problem]
        except FileNotFoundError:
            if named_paths is not None:
                problems.append(
                    f"TILECORE_TRUSTED_KEYS names {path}, which does not exist: correct the path, or unset the variable"
                )
        except OSError as error:
            problems.append(f"the keys in {path} cannot be read: {error.strerror or error}")
    return keys, problems
