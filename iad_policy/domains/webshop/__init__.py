"""The shop: rule-based agent, proxy verifier, and how both read instructions and pages."""
