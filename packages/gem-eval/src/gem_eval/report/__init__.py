"""A page on runs for the appendix of a paper: tables and figures with their data, settings, versions and commands."""
