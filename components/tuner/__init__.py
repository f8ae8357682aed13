"""Tuner: searches for the training's hyperparameters with KerasTuner."""
