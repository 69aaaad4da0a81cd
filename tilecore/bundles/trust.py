"""Decides whether the kernels of a bundle may be run: by its owner, or by its signature."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tilecore import settings
from tilecore.bundles.keys import (
    FORM,
    MAKE_KEY,
    OTHER_KIND,
    has_other_public_key,
    is_private_key,
    is_public_key,
    key_text,
    keys_of,
    way_to_public_key,
)
from tilecore.bundles.signatures import Signature, has_signed, parse_signature, trusted_keys
from tilecore.compilation_cache.layout import is_trusted
from tilecore.compilation_cache.owners import why_not_trusted, why_trusted
from tilecore.compilation_cache.warning import WarnOnce
from tilecore.errors import CacheError
from tilecore.whole_files import path_text

if TYPE_CHECKING:
    from tilecore.bundles.file import BundleFile


class UntrustedError(CacheError):
    """A bundle may not be used: neither its owner nor its signature is trusted. The message says what to do."""


class WrongSignatureError(UntrustedError):
    """A bundle was changed after it was signed."""


_warn_once = WarnOnce()


def require_trusted(file: BundleFile, signed_by: str | os.PathLike[str] | None = None) -> str:
    """Why the bundle may be used, in words. Raises UntrustedError where it may not: trusted are one of root or of the
    same user that nobody else can write to, and one that is signed by a key of TILECORE_TRUSTED_KEYS. One that such a
    key signed and that was changed later is refused, whoever owns it. Files of TILECORE_TRUSTED_KEYS that cannot be
    used are told: by the error, else by one warning.

    signed_by: a public key, or a file of public keys: only bundles that one of them signed are then trusted.
    """
    signature = parse_signature(file.signature)
    if signed_by is not None:
        _require_signature(file, signature, _demanded(signed_by))
        return "it is signed by the key that is asked for"
    is_own = is_trusted(file.facts, of_root=True)
    is_asked_for_keys = signature is not None or settings.trusted_keys() is not None
    keys, problems = trusted_keys() if is_asked_for_keys else (set(), [])
    reason = why_trusted(file.facts) if is_own else ""
    if signature is not None and signature.key in keys:
        try:
            _require_signature(file, signature, keys)
            reason = "it is signed by a trusted key"
        except UntrustedError:
            raise
        except CacheError:  # the package is missing
            if not is_own:
                raise
    elif not is_own:
        raise UntrustedError(
            f"{file.path} is not trusted: {_signer(signature)}, and {why_not_trusted(file.path, file.facts)}",
            found="; ".join(problems) or None,
            hint=_hint(signature),
        )
    for problem in problems:
        _warn_once(problem, problem)
    return reason


def _require_signature(file: BundleFile, signature: Signature | None, keys: set[bytes]) -> None:
    if signature is None or signature.key not in keys:
        raise UntrustedError(
            f"{file.path} is not trusted: {_signer(signature)}",
            expected=f"a bundle that is signed by {' or '.join(sorted(map(key_text, keys))) or 'a trusted key'}",
        )
    if not has_signed(signature, file.first_line):
        raise WrongSignatureError(
            f"{file.path} is not trusted: its signature by {key_text(signature.key)} is wrong",
            hint="the file was changed after it was signed: get it again",
        )


def _demanded(signed_by: str | os.PathLike[str]) -> set[bytes]:
    text = path_text(signed_by, "signed_by")
    keys = keys_of(text)
    if keys:
        return set(keys)
    if is_private_key(text):  # which the message must not show
        raise CacheError(
            "signed_by has the text of a private key, which only signs",
            expected='the public key, "ssh-ed25519 AAAA...", or the path of a file of public keys',
        )
    try:
        with open(text, encoding="utf-8-sig", errors="replace") as file:
            content = file.read()
    except (OSError, ValueError) as error:
        if is_public_key(text):
            content = text
        else:
            reason = getattr(error, "strerror", None) or error
            raise CacheError(
                f"signed_by={text!r} cannot be read: {reason}",
                expected='a public key, "ssh-ed25519 AAAA...", or the path of a file of public keys',
            ) from error
    keys = keys_of(content)
    if not keys and is_private_key(content):
        raise CacheError(
            f"signed_by={text!r} cannot check a signature",
            found="a private key, which only signs",
            expected=FORM,
            hint=way_to_public_key(text, content),
        )
    if not keys:
        is_other = has_other_public_key(content)
        raise CacheError(
            f"signed_by={text!r} has no Ed25519 public key",
            found=OTHER_KIND if is_other else None,
            expected=FORM,
            hint=MAKE_KEY if is_other else None,
        )
    return set(keys)


def _signer(signature: Signature | None) -> str:
    if signature is None:
        return "it is not signed"
    return f"it is signed by {key_text(signature.key)}, which is not among the trusted keys"


def _hint(signature: Signature | None) -> str:
    if signature is not None:
        return "if you trust this key, append it to ~/.config/tilecore/trusted_keys, or set TILECORE_TRUSTED_KEYS"
    return "or sign it: tilecore compile --sign KEY, and name the public key in TILECORE_TRUSTED_KEYS"
