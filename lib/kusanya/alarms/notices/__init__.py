"""Notices of alarms: which are sent, when, to whom, in which words."""
