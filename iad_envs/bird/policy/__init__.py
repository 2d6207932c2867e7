"""Schema linking without a model: it turns a question and a schema into a query, for the agent of `IAD/BIRD-v0`.

`question` parses the question, evidence and schema. `grounding` links words to columns and conditions. `forms` finds
the kind of query for a wording. `query` represents it in parts that can be exchanged.
"""
