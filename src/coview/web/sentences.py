"""What an error says, in one line."""

from __future__ import annotations

__all__ = ["sentence"]


def sentence(error: BaseException, most: int = 300) -> str:
    """Return the first line of what an error says, of bounded length.

    Examples
    --------
    >>> sentence(ValueError("Too wide.\\n\\nA long story follows."))
    'Too wide.'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return text if len(text) <= most else f"{text[: most - 3]}..."
