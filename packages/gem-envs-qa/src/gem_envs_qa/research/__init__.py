"""Reports about the world of DeepSearch: tasks without one answer, graded by typed claims and their citations."""
