"""Faces: what people call, one solver a file."""
