"""Archives: equal bytes, checksums, and no way out of the directory."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from apuflow.core.errors import AnalysisError
from apuflow_analysis.archive.archive import differences, unpack, verify, write

FILES: dict[str, Path | bytes] = {"a.txt": b"one\n", "runs/x/run.json": b"{}", "empty": b""}


def packed(directory: Path, name: str = "s.tar.zst") -> Path:
    archive = directory / name
    write(archive, "s", FILES, {"points": 2})
    return archive


def members(archive: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(archive.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        return [(one, stream.read() if (stream := tar.extractfile(one)) else b"") for one in tar]


def rewrite(archive: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], object]) -> None:
    """Change an archive as somebody with bad intent could: any members, sums made to fit by the change."""
    content = members(archive)
    change(content)
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for info, data in content:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    archive.write_bytes(zstandard.ZstdCompressor().compress(stream.getvalue()))


def forged(files: list[dict[str, Any]]) -> bytes:
    return json.dumps({"format": 1, "name": "s", "about": {}, "files": files}).encode()


def entry(path: str, data: bytes) -> dict[str, Any]:
    return {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


@pytest.mark.parametrize("name", ["s.tar.zst", "s.tar.gz"])
def test_what_goes_in_comes_out(tmp_path: Path, name: str) -> None:
    archive = packed(tmp_path, name)
    manifest = unpack(archive, tmp_path / "there")
    assert {path: (tmp_path / "there" / path).read_bytes() for path in FILES} == FILES
    assert manifest.about == {"points": 2} and manifest == verify(archive)
    assert differences(manifest, tmp_path / "there") == ()


@pytest.mark.parametrize("name", ["s.tar.zst", "s.tar.gz"])
def test_the_same_files_give_the_same_bytes(tmp_path: Path, name: str) -> None:
    first = packed(tmp_path, name).read_bytes()
    (tmp_path / "real").write_bytes(b"one\n")
    write(tmp_path / name, "s", {**dict(reversed(FILES.items())), "a.txt": tmp_path / "real"}, {"points": 2})
    assert (tmp_path / name).read_bytes() == first


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum")
def test_plain_tools_unpack_and_check_it(tmp_path: Path) -> None:
    archive = packed(tmp_path, "s.tar.gz")
    subprocess.run(["tar", "-xzf", archive.name], cwd=tmp_path, check=True)
    done = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "s", capture_output=True, text=True, check=True
    )
    assert done.stdout.count("OK") == len(FILES)


def test_no_file_is_newer_than_another(tmp_path: Path) -> None:
    unpack(packed(tmp_path), tmp_path / "there")
    times = {path.stat().st_mtime for path in (tmp_path / "there").rglob("*") if path.is_file()}
    assert len(times) == 1


@pytest.mark.parametrize("keep", [0, 1, 40, 0.5, 0.99])
def test_a_cut_archive_is_found(tmp_path: Path, keep: float) -> None:
    archive = packed(tmp_path)
    data = archive.read_bytes()
    archive.write_bytes(data[: int(keep if keep >= 1 else keep * len(data))])
    with pytest.raises(AnalysisError):
        verify(archive)


def test_every_changed_byte_is_found(tmp_path: Path) -> None:
    archive = packed(tmp_path)
    data = archive.read_bytes()
    for place in range(0, len(data), 7):
        archive.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        with pytest.raises(AnalysisError):
            verify(archive)


def test_a_changed_file_is_named(tmp_path: Path) -> None:
    archive = packed(tmp_path)
    rewrite(archive, lambda content: content.__setitem__(2, (content[2][0], b"two\n")))
    with pytest.raises(AnalysisError, match="checksum") as caught:
        unpack(archive, tmp_path / "there")
    assert "a.txt" in str(caught.value)
    assert not (tmp_path / "there").exists()


def test_missing_and_extra_files_are_named(tmp_path: Path) -> None:
    archive = packed(tmp_path)
    rewrite(archive, lambda content: content.pop())
    with pytest.raises(AnalysisError, match="lacks a file") as caught:
        verify(archive)
    assert "runs/x/run.json" in str(caught.value)
    archive = packed(tmp_path)
    rewrite(archive, lambda content: content.append((tarfile.TarInfo("s/extra"), b"")))
    with pytest.raises(AnalysisError, match="does not name"):
        verify(archive)


OUTSIDE = ["../out", "/tmp/out", "a/../../out", "..", "a//b", "./a", "a\\..\\b", "a/", "nul\0l"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out(tmp_path: Path, path: str) -> None:
    with pytest.raises(AnalysisError):
        write(tmp_path / "x.tar.zst", "s", {path: b""}, {})
    archive = packed(tmp_path)

    def change(content: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        content[0] = (content[0][0], forged([entry(path, b"out")]))
        info = tarfile.TarInfo("s/a")
        info.name = f"s/{path}"
        content[2:] = [(info, b"out")] if "\0" not in path else []

    rewrite(archive, change)
    with pytest.raises(AnalysisError):
        unpack(archive, tmp_path / "in" / "there")
    assert not [found for found in tmp_path.rglob("out") if found.exists()]


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE]
)
def test_only_regular_files(tmp_path: Path, kind: bytes) -> None:
    archive = packed(tmp_path)

    def change(content: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        info = tarfile.TarInfo("s/a.txt")
        info.type, info.linkname = kind, "/etc/passwd"
        content[2] = (info, b"")

    rewrite(archive, change)
    with pytest.raises(AnalysisError, match="never hold"):
        unpack(archive, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    there = tmp_path / "there"
    there.mkdir()
    (there / "runs").symlink_to(tmp_path / "outside")
    with pytest.raises(AnalysisError, match="symbolic link"):
        unpack(packed(tmp_path), there)
    assert list((tmp_path / "outside").iterdir()) == [] and not (there / "a.txt").exists()


def test_what_is_there_stays(tmp_path: Path) -> None:
    there = tmp_path / "there"
    unpack(packed(tmp_path), there)
    unpack(packed(tmp_path), there)
    (there / "a.txt").write_text("mine")
    (there / "empty").unlink()
    with pytest.raises(AnalysisError, match="other content"):
        unpack(packed(tmp_path), there)
    assert (there / "a.txt").read_text() == "mine" and not (there / "empty").exists()
    assert differences(verify(packed(tmp_path)), there) == ("a.txt", "empty")


def test_a_directory_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "there" / "a.txt").mkdir(parents=True)
    with pytest.raises(AnalysisError, match="a directory stands where a file"):
        unpack(packed(tmp_path), tmp_path / "there")


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"[]",
        b"{",
        b'{"format": 2, "name": "s", "about": {}, "files": []}',
        forged([entry("a", b""), entry("a", b"")]),
        forged([{"path": "a", "size": -1, "sha256": ""}]),
    ],
)
def test_other_manifests_are_refused(tmp_path: Path, manifest: bytes) -> None:
    archive = packed(tmp_path)
    rewrite(archive, lambda content: content.__setitem__(0, (content[0][0], manifest)))
    with pytest.raises(AnalysisError):
        verify(archive)


def test_other_files_are_no_archives(tmp_path: Path) -> None:
    for content in (b"", b"hello", zstandard.ZstdCompressor().compress(b"hello" * 1000)):
        (tmp_path / "x.tar.zst").write_bytes(content)
        with pytest.raises(AnalysisError):
            verify(tmp_path / "x.tar.zst")
    with pytest.raises(AnalysisError):
        verify(tmp_path / "absent.tar.zst")
    with pytest.raises(AnalysisError, match=r"\.tar\.zst or \.tar\.gz"):
        write(tmp_path / "x.zip", "s", FILES, {})


def test_an_unreadable_file_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="cannot read a file"):
        write(tmp_path / "out" / "x.tar.zst", "s", {"a": tmp_path / "absent"}, {})
    assert not (tmp_path / "out").exists() or list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/post-checkout",
        "a/.GIT/config",
        ".snakemake/locks/0.lock",
        "a\nb",
        "a\x1b[2Jb",
        "a\u202eb",
        "a\x7f",
        "d/" * 500 + "a",
        "a" * 256,
    ],
)
def test_names_that_somebody_acts_on_or_that_hide_themselves_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(AnalysisError):
        write(tmp_path / "own.tar.zst", "s", {path: b"x"}, {})
    archive = packed(tmp_path)
    data = b"x"

    def add(content: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        content[:] = [
            (tarfile.TarInfo("s/MANIFEST.json"), forged([entry(path, data)])),
            (tarfile.TarInfo("s/SHA256SUMS"), f"{hashlib.sha256(data).hexdigest()}  {path}\n".encode()),
            (tarfile.TarInfo(f"s/{path}"), data),
        ]

    rewrite(archive, add)
    with pytest.raises(AnalysisError, match="impossible paths"):
        unpack(archive, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_a_manifest_of_100_000_levels_is_told_in_words(tmp_path: Path) -> None:
    archive = packed(tmp_path)
    rewrite(archive, lambda content: content.__setitem__(0, (content[0][0], b"[" * 100_000)))
    with pytest.raises(AnalysisError, match="its manifest cannot be read"):
        verify(archive)


def test_an_archive_that_the_disk_cannot_hold_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = packed(tmp_path)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage._replace(free=5))
    with pytest.raises(AnalysisError, match="files take 6 bytes, and 5 are free") as caught:
        unpack(archive, tmp_path / "there")
    assert "make room" in str(caught.value.remedy)
    assert not (tmp_path / "there").exists()
    verify(archive)


def test_an_archive_that_goes_on_after_its_end_is_refused(tmp_path: Path) -> None:
    archive = packed(tmp_path)
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(archive.read_bytes())
    archive.write_bytes(zstandard.ZstdCompressor().compress(raw + b"\0" * (64 << 20)))
    with pytest.raises(AnalysisError, match="goes on after its end"):
        verify(archive)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_takes_memory_is_refused(tmp_path: Path, kind: bytes) -> None:
    """tarfile reads a header whole, however long it says it is."""
    header = tarfile.TarInfo("s/header")
    header.type, header.size = kind, 1 << 50
    archive = tmp_path / "x.tar.zst"
    raw = header.tobuf(format=tarfile.GNU_FORMAT) + bytes(4 << 20)
    archive.write_bytes(zstandard.ZstdCompressor().compress(raw))
    with pytest.raises(AnalysisError, match="a header of more than a megabyte"):
        verify(archive)


def test_headers_of_headers_are_told_in_words(tmp_path: Path) -> None:
    """tarfile calls itself for each."""
    header = tarfile.TarInfo("s/header")
    header.type, header.size = tarfile.XHDTYPE, 9
    one = header.tobuf(format=tarfile.GNU_FORMAT) + b"9 a=bcde\n".ljust(512, b"\0")
    archive = tmp_path / "x.tar.zst"
    archive.write_bytes(zstandard.ZstdCompressor().compress(one * 1000))
    with pytest.raises(AnalysisError, match="the archive is damaged"):
        verify(archive)


def raw_of(archive: Path) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(archive.read_bytes())


@pytest.mark.parametrize("frames", [1, 2])
def test_a_second_archive_behind_the_first_is_refused(tmp_path: Path, frames: int) -> None:
    """Behind the end of the tar file, or of the whole compressed file: tools disagree on which one counts."""
    archive = packed(tmp_path)
    content, raw = archive.read_bytes(), raw_of(archive)
    archive.write_bytes(content * 2 if frames == 2 else zstandard.ZstdCompressor().compress(raw + raw))
    with pytest.raises(AnalysisError, match="goes on after its end"):
        unpack(archive, tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("name", ["s.tar.zst", "s.tar.gz"])
def test_every_cut_and_every_addition_is_found(tmp_path: Path, name: str) -> None:
    """Also a cut in the last bytes, which hold nothing but the checksum of the compressed data."""
    archive = packed(tmp_path, name)
    content = archive.read_bytes()
    for cut in (1, 3, 4, 5, 8, 100):
        archive.write_bytes(content[:-cut])
        with pytest.raises(AnalysisError, match="the archive is damaged or cut"):
            verify(archive)
    archive.write_bytes(content + b"x")
    with pytest.raises(AnalysisError, match=r"cut|damaged"):
        verify(archive)


def test_a_tar_file_without_its_end_is_cut(tmp_path: Path) -> None:
    archive = packed(tmp_path)
    raw = raw_of(archive).rstrip(b"\0")
    archive.write_bytes(zstandard.ZstdCompressor().compress(raw + bytes(-len(raw) % 512)))
    with pytest.raises(AnalysisError, match="the archive is damaged or cut"):
        verify(archive)


def test_frames_and_padding_of_other_tools_are_read(tmp_path: Path) -> None:
    """pzstd writes a frame for each part; GNU tar fills records of 20 blocks, others end behind two."""
    archive = packed(tmp_path)
    raw = raw_of(archive)
    parts = [zstandard.ZstdCompressor().compress(raw[at : at + 3000]) for at in range(0, len(raw), 3000)]
    archive.write_bytes(b"".join(parts))
    assert verify(archive).about == {"points": 2}
    end = len(raw.rstrip(b"\0")) + 511 & -512
    archive.write_bytes(zstandard.ZstdCompressor().compress(raw[:end] + bytes(1024)))
    assert verify(archive).about == {"points": 2}


def test_a_sparse_file_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """As ``tar --sparse`` writes a file that is one hole: 4 GB in some hundred bytes."""
    whole = {"path": "big", "size": 4 << 30, "sha256": "0" * 64}
    hole = tarfile.TarInfo("s/big")
    hole.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(hole.tobuf(format=tarfile.GNU_FORMAT))
    block[386:410] = b"%011o\0%011o\0" % (4 << 30, 0)
    block[483:495] = b"\x80" + (4 << 30).to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    manifest = tarfile.TarInfo("s/MANIFEST.json")
    data = forged([whole])
    manifest.size = len(data)
    raw = manifest.tobuf() + data + bytes(-len(data) % 512) + bytes(block) + bytes(10240)
    archive = tmp_path / "s.tar.zst"
    archive.write_bytes(zstandard.ZstdCompressor().compress(raw))
    with pytest.raises(AnalysisError, match="with holes") as caught:
        unpack(archive, tmp_path / "there")
    assert caught.value.value == "s/big" and not (tmp_path / "there").exists()


def test_a_file_that_stands_twice_is_named(tmp_path: Path) -> None:
    archive = packed(tmp_path)
    rewrite(archive, lambda content: content.append(content[2]))
    with pytest.raises(AnalysisError, match="a file twice") as caught:
        verify(archive)
    assert caught.value.value == "a.txt"
