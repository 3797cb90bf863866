"""From proven runs to tables, figures and the report. Seconds; never starts a simulation again."""


rule table:
    """One workload's table: a row per point, from the run records and statistics of every engine of the sweep.

    Columns, their units and meanings stand beside it. A point without a proven run stops it here, unless the sweep
    says `on_failure: record`.
    """
    input:
        unpack(lambda wildcards: session.inputs.table_inputs(wildcards, checkpoints)),
        configuration=mine(session.campaign.table_configuration),
    output:
        csv=paths.table(),
        parquet=paths.table(extension="parquet"),
        columns=paths.table_columns(),
    log:
        paths.log("tables", "{under}{workload}"),
    conda:
        "../envs/apuflow.yaml"
    params:
        under=lambda wildcards: wildcards.under,
        names=lambda wildcards: [wildcards.workload],
    message:
        "table {output.csv}"
    script:
        "../scripts/table.py"


for tables in session.sets("tables"):

    rule:
        name:
            tables.rule
        input:
            records=[
                paths.preview_record(tables.sweep, each)
                for each in session.campaign.previewed(tables.under)
            ],
            configuration=mine(
                session.campaign.tables_configuration(tables.under, tables.names)
            ),
        output:
            [
                file
                for each in tables.names
                for file in paths.table_files(tables.under, each)
            ],
        log:
            paths.log("tables", tables.sweep, "all"),
        localrule: True
        conda:
            "../envs/apuflow.yaml"
        threads: 4
        params:
            under=tables.under,
            names=tables.names,
        message:
            "tables of results/{params.under}"
        script:
            "../scripts/table.py"


rule suite_items:
    """One suite of a sweep, item by item: time, throughput by the suite's own rule, bound; and the sums by phase, kind of
    layer and part of memory. From the table of operations, of which every suite of the sweep takes what it has.
    """
    input:
        table=paths.table(workload=paths.OPERATIONS, extension="parquet"),
        configuration=mine(session.campaign.suite_configuration),
    output:
        each=paths.suite_items(),
        times=paths.suite_times(),
        summary=paths.suite_summary(),
    log:
        paths.log("suites", "{under}{suite}"),
    conda:
        "../envs/apuflow.yaml"
    params:
        under=lambda wildcards: wildcards.under,
        suites=lambda wildcards: [wildcards.suite],
    message:
        "items of suite {wildcards.suite}: {output.each}"
    script:
        "../scripts/suite_items.py"


for suites in session.sets("suites"):

    rule:
        name:
            suites.rule
        input:
            table=paths.table(suites.under, paths.OPERATIONS, "parquet"),
            configuration=mine(
                session.campaign.set_configuration(suites.under, suites.names)
            ),
        output:
            [
                file
                for each in suites.names
                for file in paths.suite_files(suites.under, each)
            ],
        log:
            paths.log("suites", suites.sweep),
        localrule: True
        conda:
            "../envs/apuflow.yaml"
        params:
            under=suites.under,
            suites=suites.names,
        message:
            "items of the suites of results/{params.under}"
        script:
            "../scripts/suite_items.py"


checkpoint sample_round:
    """Some operations of a sweep with `sampling`. What they took decides which come next, until the interval of the total
    is as narrow as asked or the budget is spent.
    """
    input:
        unpack(
            lambda wildcards: session.inputs.in_batches(
                *rounds.round_records(wildcards)
            )
        ),
    output:
        touch(paths.sample_round()),
    log:
        paths.log("samples", "{sweep}", "{round}"),
    conda:
        "../envs/apuflow.yaml"
    message:
        "a round of the sample of sweep {wildcards.sweep}"


rule sampled:
    """A sample of a sweep's suites: every operation, measured or estimated, and the total of each iteration."""
    input:
        records=lambda wildcards: rounds.records(wildcards, checkpoints),
        configuration=mine(session.campaign.sweep_configuration),
    output:
        members=paths.sampled(),
        totals=paths.sampled_totals(),
    log:
        paths.log("samples", "{under}sampled"),
    conda:
        "../envs/apuflow.yaml"
    message:
        "sample {output.totals}"
    script:
        "../scripts/sampled.py"


rule figure:
    """One figure of a sweep, as SVG and PNG, with the numbers it shows as CSV."""
    input:
        tables=session.campaign.figure_tables,
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
    params:
        under=lambda wildcards: wildcards.under,
        names=lambda wildcards: [wildcards.figure],
    message:
        "figure {output.svg}"
    script:
        "../scripts/figure.py"


for figures in session.sets("figures"):

    rule:
        name:
            figures.rule
        input:
            tables=session.campaign.figures_tables(figures.under, figures.names),
        output:
            [
                report(
                    paths.figure(figures.under, each),
                    caption="../report/figure.rst",
                    category="Figures",
                    labels={"figure": each},
                )
                for each in figures.names
            ],
            [
                paths.figure(figures.under, each, extension)
                for each in figures.names
                for extension in ("png", "csv")
            ],
        log:
            paths.log("figures", figures.sweep),
        localrule: True
        conda:
            "../envs/apuflow.yaml"
        threads: 4
        params:
            under=figures.under,
            names=figures.names,
        message:
            "figures of results/{params.under}"
        script:
            "../scripts/figure.py"


rule report:
    """One self-contained page per sweep: what the sweep describes, what ran, tables, figures, definitions."""
    input:
        tables=session.campaign.sweep_tables,
        figures=session.campaign.sweep_figures,
        sampled=session.campaign.sweep_sampled,
        suites=session.campaign.sweep_items,
        configuration=mine(session.campaign.sweep_configuration),
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
