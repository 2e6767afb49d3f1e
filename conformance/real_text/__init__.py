"""Real text through a target's own preparation, held against the reference.

Laws draw small documents and give a target tokens. Here a target gets files of text and a real tokenizer, and its
whole offline path runs as it does for a user. Run it with ``pytest --pyargs conformance.real_text --target ...``; a
target without ``prepare_text`` is not supported.
"""
