"""What a coding agent must know to author environments: texts, and their place in a project.

=====================  ===============================================================================================
``SKILL.md``           the skill: how to author, check and diagnose an environment, in commands that a test runs
``agents_section.md``  a section for a project's ``AGENTS.md``, which leads to the skill
``managed_text.py``    texts that GEM wrote into a user's files, recognised again by their digest
``installing.py``      writes both texts where coding agents look for them
=====================  ===============================================================================================
"""
