"""ACEBench: reads answers, executes the calls of agent tasks, and checks them as the official code does."""
