"""The shell: rule-based agent, its command patterns, proxy verifier, and how both read instructions."""
