"""Readers of the standard files, one per format; each gives arrays and checks what it reads."""
