-- Whom to pay back, the certain ones first, and how often each is booked.
SELECT
    l.mode,
    l.currency,
    l.reference,
    l.collection_ids,
    l.first_at,
    l.last_at,
    l.business_day,
    l.payments,
    l.amount,
    l.at_stake,
    coalesce(of_this.booked, 0) + coalesce(of_other.booked, 0) AS booked,
    l.rule,
    l.suspected,
    l.refund,
    l.fee
FROM listed_doubles AS l
LEFT JOIN lines_of_doubles AS of_this ON of_this.reference = l.reference
LEFT JOIN lines_of_doubles AS of_other ON of_other.reference = l.reference_before
ORDER BY suspected, refund DESC, first_at, l.reference, collection_ids
