"""Figures of runs for the page and for papers: what they show (``of_runs``), as SVG (``drawing``), CSV and PNG."""
