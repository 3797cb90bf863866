"""``apuflow archive``: a study as one file, its check, and back."""

from __future__ import annotations

from pathlib import Path

import typer

from apuflow.commands import RESULTS, complete, group
from apuflow.core import paths
from apuflow.core.words import many

archive = group("archive", RESULTS, "A study as one file: pack it, check it, unpack it.")


@archive.command()
def pack(
    sweep: str = typer.Argument(
        help="name of a sweep whose report has been made", autocompletion=complete.sweep
    ),
    out: Path | None = typer.Option(
        None, "--out", "-o", help="a file .tar.zst or .tar.gz; default: archives/SWEEP.tar.zst"
    ),
    appendix: bool = typer.Option(
        False,
        "--appendix",
        help="also write the artifact appendix, APPENDIX.md in it and SWEEP.appendix.md beside it",
    ),
) -> None:
    """Pack a study: configuration, runs, statistics, tables, figures, report.

    The archive is a Workflow Run RO-Crate. Authors, title and licence come from the project's CITATION.cff.
    """
    from apuflow.core.files import write_text
    from apuflow.plan.campaign import Campaign
    from apuflow.results.archive_files import APPENDIX, about, described, study_files
    from apuflow_analysis.archive.archive import write

    out = out or Path("archives") / f"{sweep}.tar.zst"
    campaign = Campaign()
    loaded = campaign.load(sweep)
    files, given = described(campaign, loaded, study_files(campaign, loaded), with_appendix=appendix)
    manifest = write(out, sweep, files, about(campaign, loaded))
    size, count = out.stat().st_size, many(len(manifest.entries), "file")
    typer.echo(f"{out}: {count}, {manifest.size:,} bytes, packed {size:,}, checked")
    if isinstance(text := files.get(APPENDIX), bytes):
        beside = out.with_name(f"{sweep}.appendix.md")
        write_text(beside, text.decode())
        typer.echo(f"{beside}: the artifact appendix")
    lacking = [name for name in ("title", "authors", "license") if not getattr(given, name)]
    if lacking:
        typer.echo(
            f"CITATION.cff gives no {', '.join(lacking)}: Zenodo asks for them at the upload", err=True
        )


@archive.command()
def check(
    file: Path = typer.Argument(help="an archive that apuflow archive pack wrote"),
    against: Path | None = typer.Option(None, help="a project whose tables to compare"),
) -> None:
    """Check every checksum of an archive. Exit status 1 if tables of `--against` differ from its own."""
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


@archive.command()
def unpack(
    file: Path = typer.Argument(help="an archive that apuflow archive pack wrote"),
    directory: Path = typer.Argument(help="where to unpack it; made if it does not exist"),
) -> None:
    """Unpack an archive after checking all of it; nothing is written outside of DIRECTORY."""
    from apuflow_analysis.archive.archive import unpack as unpacked

    manifest = unpacked(file, directory)
    files = many(len(manifest.entries), "file")
    typer.echo(f"{directory}: {files} of study {manifest.name}; see ARCHIVE.md")


def _is_table(path: str) -> bool:
    return path.startswith(f"{paths.RESULTS}/") and path.endswith((".csv", ".parquet"))
