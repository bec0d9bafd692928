"""Connecting clients: the configuration each one documents, put into its file beside whatever else stands there."""

from .errors import ConfigError
from .installing import Installation, install, plan, skill
from .products import NAME, PRODUCTS, VARIABLE, Product, Way, around

__all__ = [
    "NAME",
    "PRODUCTS",
    "VARIABLE",
    "ConfigError",
    "Installation",
    "Product",
    "Way",
    "around",
    "install",
    "plan",
    "skill",
]
