"""From proven runs to tables, figures and the report. Seconds; never starts a simulation again."""


rule table:
    """One workload's table: a row per point, from the run records and statistics of every engine of the sweep.

    Columns, their units and meanings stand beside it. A point without a proven run stops it here, unless the sweep
    says `on_failure: record`.
    """
    input:
        unpack(
            ageless(
                session.checked(
                    lambda wildcards: runs.table_inputs(wildcards, checkpoints)
                ),
                "plan",
            )
        ),
        configuration=mine(campaign.table_configuration),
    output:
        csv=paths.table(),
        parquet=paths.table(extension="parquet"),
        columns=paths.table_columns(),
    log:
        paths.log("tables", "{under}{workload}"),
    message:
        "table {output.csv}"
    run:
        session.run("table", log, input=input, output=output, wildcards=wildcards)


rule suite_items:
    """One suite of a sweep, item by item: time, throughput by the suite's own rule, bound; and the sums by phase, kind of
    layer and part of memory. From the table of operations, of which every suite of the sweep takes what it has.
    """
    input:
        table=paths.table(workload=paths.OPERATIONS, extension="parquet"),
        configuration=mine(
            session.checked(
                lambda wildcards: campaign.configuration(
                    campaign.sweep(wildcards.under), wildcards.suite
                )
            )
        ),
    output:
        each=paths.suite_items(),
        times=paths.suite_times(),
        summary=paths.suite_summary(),
    log:
        paths.log("suites", "{under}{suite}"),
    message:
        "items of suite {wildcards.suite}: {output.each}"
    run:
        session.run("suite_items", log, input=input, output=output, wildcards=wildcards)


checkpoint sample_round:
    """Some operations of a sweep with `sampling`. What they took decides which come next, until the interval of the total
    is as narrow as asked or the budget is spent.
    """
    input:
        unpack(
            ageless(
                lambda wildcards: runs.in_batches(*rounds.round_records(wildcards)),
                "plan",
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
        records=session.checked(
            lambda wildcards: rounds.records(wildcards, checkpoints)
        ),
        configuration=mine(campaign.sweep_configuration),
    output:
        members=paths.sampled(),
        totals=paths.sampled_totals(),
    log:
        paths.log("samples", "{under}sampled"),
    message:
        "sample {output.totals}"
    run:
        session.run("sampled", log, input=input, output=output, wildcards=wildcards)


rule figure:
    """One figure of a sweep, as SVG and PNG, with the numbers it shows as CSV."""
    input:
        tables=session.checked(campaign.figure_tables),
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
    message:
        "figure {output.svg}"
    run:
        session.run("figure", log, input=input, output=output, wildcards=wildcards)


rule report:
    """One self-contained page per sweep: what the sweep describes, what ran, tables, figures, definitions."""
    input:
        unpack(session.checked(campaign.report_inputs)),
        configuration=mine(campaign.sweep_configuration),
    output:
        report(
            paths.report(),
            caption="../report/report.rst",
            category="Report",
        ),
    log:
        paths.log("reports", "{under}report"),
    message:
        "report {output}"
    run:
        session.run("report", log, input=input, output=output, wildcards=wildcards)


if session.is_ours_alone:

    rule no_such_result:
        """A target that looks like a result and is none: a message names the nearest result."""
        input:
            session.refuse_unknown,
        output:
            "{unknown}",
        wildcard_constraints:
            unknown=session.unknown_results,
