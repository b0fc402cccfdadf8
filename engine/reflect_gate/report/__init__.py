"""Reporters, one file a form: documents of the machine forms in, text for people or tools out; no file, clock or terminal."""
