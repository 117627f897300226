"""The filter's one grammar, for the console, the command line, the library and the notebooks.

    failed channel:airtel,mixx amount:5000..20000 age<=15m -code:user_cancelled "ref:INV 7"

Terms stand side by side and all must hold; the values of one term are separated by commas and any
may hold; a leading - negates a term; quotes keep spaces together. `!` alone means whatever is not
plainly well. A bare word is a status, a channel or a failure code, else a part of a reference.
`parse` and `describe` are each other's inverse. Pure.
"""

from kusanya.filters.describing import describe
from kusanya.filters.parsing import expand, parse
from kusanya.filters.terms import KEYS, Filter, FilterError, Range, Term, TimeRange, Value

__all__ = [
    "KEYS",
    "Filter",
    "FilterError",
    "Range",
    "Term",
    "TimeRange",
    "Value",
    "describe",
    "expand",
    "parse",
]
