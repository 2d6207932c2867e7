"""Chromium for environments: DevTools for rendering, Selenium for shopping, and pictures as arrays."""
