"""Django: `kusanya.integrations.django` in INSTALLED_APPS brings one table and one command.

`manage.py migrate` makes the table `kusanya_done` in the default database, and
`manage.py kusanya_outcomes shop.shipping.consumer` runs a consumer in it: outcomes are acted on in
transactions of Django's own.
"""
