"""Making tasks from a package, and proving each of them."""
