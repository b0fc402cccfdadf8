"""Corpora of logged reflections, read as evaluation requests; `conversion.CONVERTERS` lists the forms."""
