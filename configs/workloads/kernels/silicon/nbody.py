"""Reference of nbody: steps of 0.005 s, forces softened by 50."""

import numpy as np

SECONDS, SOFTENING = 0.005, 50.0


def expected(buffers, parameters):
    """Positions (the fourth number is a mass) and velocities after one step."""
    place, speed = (buffers[name].reshape(-1, 4).astype(float) for name in ("position", "velocity"))
    pull = np.empty((len(place), 3))
    for body, here in enumerate(place[:, :3]):
        apart = place[:, :3] - here
        pull[body] = place[:, 3] * ((apart**2).sum(axis=1) + SOFTENING) ** -1.5 @ apart
    moved, faster = place.copy(), speed.copy()
    moved[:, :3] += speed[:, :3] * SECONDS + pull * SECONDS**2 / 2
    faster[:, :3] += pull * SECONDS
    return {"new_position": moved, "new_velocity": faster}
