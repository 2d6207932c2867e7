"""An online shop for agents: catalogue, goals, search, pages and reward. It does not need Gymnasium."""
