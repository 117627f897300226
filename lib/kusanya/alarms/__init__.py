"""What a person should look after: one rule for each alarm, judged from one reading of a store.

`inputs.load` reads what the rules need and `rules.raised` judges it, for whatever shows alarms. A
rule is one function and holds everything about its alarm: id, severity, sentence, next step.
"""
