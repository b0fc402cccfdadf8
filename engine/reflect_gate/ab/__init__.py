"""Two bundles on the same recorded candidates: which admits what helped, what each mechanism is worth, and what that decides.

Pure functions from verdicts and labels to one document of plain data. `comparing` is the whole comparison, `deciding` the rule
that is printed with every input to it, `ablating` the verdicts on mechanisms, `chains` the replay in the order of time.
"""
