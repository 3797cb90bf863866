"""``apuflow archive SWEEP`` and ``apuflow unpack FILE DIR``: a study as one file, and back."""

from __future__ import annotations

from pathlib import Path

import typer

from apuflow.commands import app
from apuflow.core import paths
from apuflow.core.words import many


@app.command()
def archive(
    sweep: str = typer.Argument("", help="name of a sweep whose report has been made"),
    out: Path | None = typer.Option(
        None, "--out", "-o", help="a file .tar.zst or .tar.gz; default: archives/SWEEP.tar.zst"
    ),
    check: Path | None = typer.Option(None, "--verify", help="check this archive instead of writing one"),
    against: Path | None = typer.Option(None, help="with --verify: a project whose tables to compare"),
) -> None:
    """Pack a study (configuration, runs, statistics, tables, figures, report), or check an archive."""
    if bool(sweep) == (check is not None) or (against is not None and check is None):
        raise typer.BadParameter("name either a SWEEP to pack or --verify FILE (with --against DIR)")
    if check is not None:
        _check(check, against)
    else:
        _pack(sweep, out or Path("archives") / f"{sweep}.tar.zst")


@app.command()
def unpack(
    file: Path = typer.Argument(help="an archive that apuflow archive wrote"),
    directory: Path = typer.Argument(help="where to unpack it; made if it does not exist"),
) -> None:
    """Unpack an archive after checking all of it; nothing is written outside of DIRECTORY."""
    from apuflow_analysis.archive.archive import unpack as unpacked

    manifest = unpacked(file, directory)
    files = many(len(manifest.entries), "file")
    typer.echo(f"{directory}: {files} of study {manifest.name}; see ARCHIVE.md")


def _pack(sweep: str, out: Path) -> None:
    from apuflow.plan.campaign import Campaign
    from apuflow.results.archive_files import about, study_files
    from apuflow_analysis.archive.archive import write

    campaign = Campaign()
    loaded = campaign.load(sweep)
    manifest = write(out, sweep, study_files(campaign, loaded), about(campaign, loaded))
    size, files = out.stat().st_size, many(len(manifest.entries), "file")
    typer.echo(f"{out}: {files}, {manifest.size:,} bytes, packed {size:,}, checked")


def _check(file: Path, against: Path | None) -> None:
    from apuflow_analysis.archive.archive import differences, verify

    manifest = verify(file)
    typer.echo(f"{file}: study {manifest.name}, {many(len(manifest.entries), 'file')}, every checksum holds")
    if against is None:
        return
    tables = [entry.path for entry in manifest.entries if _is_table(entry.path)]
    changed = [path for path in differences(manifest, against, f"{paths.RESULTS}/") if _is_table(path)]
    for path in changed:
        typer.echo(f"  differs: {path}", err=True)
    if changed:
        typer.echo(f"{len(changed)} of {len(tables)} tables in {against} are not the archive's", err=True)
        raise typer.Exit(1)
    typer.echo(f"all {len(tables)} tables in {against} are those of the archive, byte for byte")


def _is_table(path: str) -> bool:
    return path.startswith(f"{paths.RESULTS}/") and path.endswith((".csv", ".parquet"))
