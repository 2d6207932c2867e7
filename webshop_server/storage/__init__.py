"""Catalogues and indexes on disk: official JSON files, a catalogue file, and search indexes."""
