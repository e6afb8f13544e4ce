"""Numbers of things in texts, such as "1 turn" and "2 turns"."""

__all__ = ["counted"]


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, in the singular for 1.

    Args:
        number: how many there are.
        one: the noun in the singular.
        many: the noun in the plural; ``one`` with an s by default.
    """
    return f"{number} {one if number == 1 else many or f'{one}s'}"
