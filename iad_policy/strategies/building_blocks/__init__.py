"""Parts that several strategies share: feedback forms, votes, stop rules, simulated episodes and search trees."""
