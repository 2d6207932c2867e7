"""Catalogues and indexes on disk: official JSON files, a catalogue read row by row, and indexes."""
