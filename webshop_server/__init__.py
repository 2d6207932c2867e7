"""An online shop for agents: catalogue, goals, search, pages and reward. Needs no Gymnasium."""
