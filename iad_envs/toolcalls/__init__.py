"""Function calling as environments."""
