"""Modelled times beside times that were measured on a real GPU."""
