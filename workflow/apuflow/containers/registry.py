"""Ask a registry about an image without pulling it.

Docker's engine gives an image's digest (``inspect_distribution``) but not its size, Apptainer neither.
Source: the OCI distribution specification, and Docker's token authentication.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import docker.auth
import docker.errors
import requests

from apuflow.core.errors import EngineError

_SECONDS: Final = 10
_HUB: Final = "registry-1.docker.io"
_LOOPBACK: Final = re.compile(r"(localhost|127\.[\d.]+|\[::1\])(:\d+)?")
"""Registries that may answer without TLS, as for Docker's engine."""
_ACCEPT: Final = (
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.docker.distribution.manifest.v2+json"
)


@dataclass(frozen=True)
class Manifest:
    """A registry's facts of an image: its ``layer_bytes`` for x86-64 are the most that a pull transfers."""

    digest: str
    layer_bytes: int


def manifest(name: str, digest: str | None = None) -> Manifest:
    """The manifest of ``registry/repository:tag`` (without a registry: Docker Hub), or of a digest.

    Raises EngineError if the registry does not answer, refuses, or has no such image.
    """
    registry, repository, tag = _parts(name)
    session = requests.Session()
    try:
        answer = _get(session, registry, repository, digest or tag)
        found = answer.headers.get("Docker-Content-Digest")
        found = found or f"sha256:{hashlib.sha256(answer.content).hexdigest()}"
        document = answer.json()
        if "manifests" in document:
            chosen = next(each for each in document["manifests"] if _is_ours(each.get("platform", {})))
            document = _get(session, registry, repository, str(chosen["digest"])).json()
        return Manifest(found, sum(int(layer["size"]) for layer in document["layers"]))
    except requests.exceptions.RequestException as error:
        raise EngineError(f"{registry} does not answer: {_reason(error)}") from error
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        raise EngineError(f"{registry} has no image for x86-64 of this name") from error


def _parts(name: str) -> tuple[str, str, str]:
    """Registry, repository and tag of an image's name, as Docker reads it."""
    first, slash, rest = name.partition("/")
    known = bool(slash) and ("." in first or ":" in first or first == "localhost")
    registry, path = (first, rest) if known else (_HUB, name if slash else f"library/{name}")
    path = path.partition("@")[0]
    repository, _, tag = path.rpartition(":")
    return (registry, repository, tag) if repository else (registry, path, "latest")


def _get(session: requests.Session, registry: str, repository: str, reference: str) -> requests.Response:
    path = f"{registry}/v2/{repository}/manifests/{reference}"
    try:
        answer = _fetch(session, f"https://{path}", registry)
    except requests.exceptions.ConnectionError:
        if not _LOOPBACK.fullmatch(registry):
            raise
        answer = _fetch(session, f"http://{path}", registry)
    if answer.status_code in (401, 403):
        raise EngineError(f"{registry}: unauthorized")
    if answer.status_code == 404:
        raise EngineError(f"{registry}: manifest unknown")
    answer.raise_for_status()
    return answer


def _fetch(session: requests.Session, url: str, registry: str) -> requests.Response:
    """Fetch a document, with a token if the registry requires one."""
    answer = session.get(url, headers={"Accept": _ACCEPT}, timeout=_SECONDS)
    if answer.status_code != 401:
        return answer
    scheme, _, rest = answer.headers.get("WWW-Authenticate", "").partition(" ")
    login = _login(registry)
    if scheme.lower() == "basic" and login is not None:
        return session.get(url, headers={"Accept": _ACCEPT}, auth=login, timeout=_SECONDS)
    wanted = dict(re.findall(r'(\w+)="([^"]*)"', rest))
    if scheme.lower() != "bearer" or not wanted.get("realm", "").startswith("https://"):
        return answer
    realm = wanted.pop("realm")
    given: Mapping[str, Any] = session.get(realm, params=wanted, auth=login, timeout=_SECONDS).json()
    token = given.get("token") or given.get("access_token")
    headers = {"Accept": _ACCEPT, "Authorization": f"Bearer {token}"}
    return session.get(url, headers=headers, timeout=_SECONDS) if token else answer


def _login(registry: str) -> tuple[str, str] | None:
    """User and password that ``docker login`` keeps for a registry."""
    try:
        found = docker.auth.load_config().resolve_authconfig(None if registry == _HUB else registry)
    except docker.errors.DockerException:
        return None
    name, password = (found or {}).get("username"), (found or {}).get("password")
    return (str(name), str(password)) if name and password else None


def _is_ours(platform: Mapping[str, Any]) -> bool:
    return platform.get("os") == "linux" and platform.get("architecture") == "amd64"


def _reason(error: Exception) -> str:
    """The end of an exception of requests, which names the cause."""
    return str(error).rpartition(": ")[2].strip("()'\"> ")[:200] or type(error).__name__
