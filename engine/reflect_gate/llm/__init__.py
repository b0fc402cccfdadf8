"""The one model call: what is sent (`prompt`), how (`client`), what is kept (`journal`, `call`), and what it says (`parse`).

`client` alone imports openai, and only when it asks. The stage is `stages.reflect`.
"""

__all__: list[str] = []
