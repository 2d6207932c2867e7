"""Schema linking without a model: from a question and a schema to a query, for the rule-based agent of `IAD/BIRD-v0`.

`question` reads what an agent may see, `grounding` links words to columns and conditions, `forms` knows which query a
wording asks for, `query` keeps it in parts that can be exchanged.
"""
