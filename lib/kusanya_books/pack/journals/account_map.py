"""Which account each part of a payment is booked on, in TOML.

currency = "TZS"             # of these books; other currencies are left out, and said

[accounts]                   # names for QuickBooks, codes for Xero and Odoo
clearing = "Mobile money clearing"
receivable = "Accounts receivable"
fee = "Mobile money charges"
vat = "VAT on purchases"     # where the tariff names VAT
excise = "Excise duty"       # where the tariff names excise
refund = "Refunds"           # where refunds are known
bank = "Bank"                # where payouts are known
suspense = "Suspense"        # money of breaks; without it they are listed and not booked

[channels.MPESA_TZ]          # in place of those above
clearing = "M-Pesa clearing"

[quickbooks]
date_format = "%m/%d/%Y"

[xero]
tax_rate = "Tax Exempt"

[odoo]
journal = "Miscellaneous Operations"
"""

import re
from pathlib import Path
from typing import Final

import msgspec

from kusanya_books.read.toml_file import fitted, read_toml

_CURRENCY: Final = re.compile(r"[A-Z]{3}")


class Accounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Accounts by what is booked on them; None where none is named."""

    clearing: str | None = None
    receivable: str | None = None
    fee: str | None = None
    vat: str | None = None
    excise: str | None = None
    refund: str | None = None
    bank: str | None = None
    suspense: str | None = None


class _QuickBooks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    date_format: str = "%m/%d/%Y"


class _Xero(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tax_rate: str = "Tax Exempt"


class _Odoo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    journal: str = "Miscellaneous Operations"


class AccountMap(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The accounts of one currency's books."""

    currency: str
    accounts: Accounts
    channels: dict[str, Accounts] = {}
    quickbooks: _QuickBooks = _QuickBooks()
    xero: _Xero = _Xero()
    odoo: _Odoo = _Odoo()

    def __post_init__(self) -> None:
        if _CURRENCY.fullmatch(self.currency) is None:
            raise ValueError("currency is three letters as TZS")

    def account(self, role: str, channel: str | None) -> str | None:
        """Return the account of a role for a channel, or None where none is named."""
        own = self.channels.get(channel) if channel is not None else None
        found: str | None = (getattr(own, role) if own else None) or getattr(self.accounts, role)
        return found or None


def read(path: Path) -> AccountMap:
    """Return the account map of a TOML file. Raises InputRefused."""
    return fitted(read_toml(path), AccountMap, f"the account map {path.name}")
