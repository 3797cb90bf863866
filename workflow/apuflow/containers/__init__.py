"""Container engines behind one small interface: Docker, Podman, Apptainer, and none (``host``)."""
