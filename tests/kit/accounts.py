"""Where the journal entries of a test are booked."""

PLAIN_ACCOUNTS = """
currency = "TZS"
[accounts]
clearing = "Clearing"
receivable = "Receivable"
fee = "Charges"
refund = "Refunds"
bank = "Bank"
suspense = "Suspense"
"""
