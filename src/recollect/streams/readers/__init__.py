"""Readers of the standard files, one a format; each gives arrays and checks what it reads."""
