"""Mazes in text and pictures, with doors and keys, seen whole or in part."""
