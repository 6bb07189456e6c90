"""Middlewares that score finished turns and keep what can be learnt from them."""
