"""Rewards: exact and numeric answers, checklists, rubrics by a judge model, comparisons.

Each is made by its name with :func:`gem_questions.rewards.make_reward`; nothing here needs to be imported for that.
"""
