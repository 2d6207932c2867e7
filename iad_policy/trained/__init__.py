"""What was trained, loaded and applied: features, heads, rows, backends and model folders. Training is in `learn`."""
