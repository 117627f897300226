"""The grammars of the operators and banks whose messages customers forward, one module each."""

from typing import Final

from kusanya.confirmations.grammar import Grammar
from kusanya.confirmations.issuers import airtel, crdb, halopesa, mixx, mpesa, nmb, selcom

GRAMMARS: Final[tuple[Grammar, ...]] = (
    mpesa.GRAMMAR,
    mixx.GRAMMAR,
    airtel.GRAMMAR,
    halopesa.GRAMMAR,
    selcom.GRAMMAR,
    crdb.GRAMMAR,
    nmb.GRAMMAR,
)
"""Every issuer that we know."""
