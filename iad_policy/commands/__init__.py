"""The commands of the terminal, one module for each group of them."""
