"""ScienceWorld (Wang et al., EMNLP 2022), played through its own simulator; see :mod:`.env`."""
