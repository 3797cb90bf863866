"""The commands of ``apuflow``: one module each, with ``register(app)``."""
