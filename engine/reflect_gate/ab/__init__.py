"""Two bundles on the same candidates: which admits what helped, what each mechanism is worth, and what that decides.

Functions from verdicts and labels to one document of plain data. `comparing` is the whole comparison, `deciding` the rule that is
printed with every input, `sweeping` the curves of thresholds, `ablating` the verdicts on mechanisms, `pairs` those on two at a
time, `chains` the replay in the order of time. `living` alone asks a model, for candidates to compare.
"""
