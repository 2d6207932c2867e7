"""Registers the elevator."""

import gymnasium as gym

gym.register(id="Example/Elevator-v0", entry_point="iad_elevator.env:ElevatorEnv")
