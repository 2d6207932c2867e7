"""What belongs to `IAD/Booking-v0`: a rule-based agent, a proxy verifier, a judge, features, and what they read."""
