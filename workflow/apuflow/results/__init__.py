"""What a sweep leaves: tables, figures, reports, archives; failures that are to be tried again."""
