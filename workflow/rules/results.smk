"""From proven runs to tables, figures and the report. Seconds; never starts a simulation again."""


rule table:
    """One workload's table: a row per point, from the run records and statistics of every engine of the sweep.

    Columns, their units and meanings stand beside it. A point without a proven run stops it here, unless the sweep
    says `on_failure: record`.
    """
    input:
        records=lambda wildcards: session.inputs.table_records(wildcards, checkpoints),
        configuration=session.campaign.table_configuration,
    output:
        csv=paths.table(),
        parquet=paths.table(extension="parquet"),
        columns=paths.table_columns(),
    log:
        paths.log("tables", "{under}{workload}"),
    conda:
        "../envs/apuflow.yaml"
    message:
        "table {output.csv}"
    script:
        "../scripts/table.py"


rule figure:
    """One figure of a sweep, as SVG and PNG, with the numbers it shows as CSV."""
    input:
        tables=session.campaign.sweep_tables,
    output:
        svg=report(
            paths.figure(),
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
        png=paths.figure(extension="png"),
        csv=paths.figure(extension="csv"),
    log:
        paths.log("figures", "{under}{figure}"),
    conda:
        "../envs/apuflow.yaml"
    message:
        "figure {output.svg}"
    script:
        "../scripts/figure.py"


rule report:
    """One self-contained page per sweep: what the sweep describes, what ran, tables, figures, definitions."""
    input:
        tables=session.campaign.sweep_tables,
        figures=session.campaign.sweep_figures,
        configuration=session.campaign.sweep_configuration,
    output:
        report(
            paths.report(),
            caption="../report/report.rst",
            category="Report",
        ),
    log:
        paths.log("reports", "{under}report"),
    conda:
        "../envs/apuflow.yaml"
    message:
        "report {output}"
    script:
        "../scripts/report.py"
