"""The shop: rule-based agent, proxy verifier, and the code with which both read instructions and pages."""
