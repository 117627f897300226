"""Which rows explain an amount that nobody can explain? It searches and books nothing.

`answer` tries named hypotheses first, then the smallest sets of rows that sum to the amount, and
says what is proven and what is not.
"""

from kusanya_books.judge.gap.answer import GapAnswer, answer, explain

__all__ = ["GapAnswer", "answer", "explain"]
