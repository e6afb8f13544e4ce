"""Environments for the conformance kit's own tests: healthy ones, and ones with one planted defect each.

Laid out as any package of environments. ``environments.toml`` offers the healthy ones in the namespace ``healthy`` and
the others in ``defect``, where the first tag is the clause that has to name the defect.
"""
