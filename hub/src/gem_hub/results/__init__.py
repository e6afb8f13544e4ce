"""Results in a hub: signed records on its packages, their admission, and what pages say of them."""
