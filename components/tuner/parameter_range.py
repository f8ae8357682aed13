"""ParameterRange: the values that a hyperparameter may take."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ParameterRange(BaseModel):
    """Either a range from `min` to `max` or a list of `choices`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min: int | float | None = Field(None, description="Least value; whole numbers give whole numbers only.")
    max: int | float | None = Field(None, description="Greatest value.")
    scale: Literal["linear", "log"] = Field(
        "linear", description="`log` tries as many values between 1 and 10 as between 10 and 100."
    )
    choices: tuple[int | float, ...] = Field((), description="Values to choose from, instead of a range.")

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if self.choices:
            if self.min is not None or self.max is not None:
                raise ValueError("takes `choices` or `min` and `max`, not both")
            return self
        if self.min is None or self.max is None:
            raise ValueError("needs `min` and `max`, or `choices`")
        if self.min >= self.max:
            raise ValueError(f"`min` is {self.min}, not less than `max` {self.max}")
        if self.scale == "log" and self.min <= 0:
            raise ValueError(f"`min` is {self.min}, but a `log` scale needs one above 0")
        return self

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return all(isinstance(value, int) for value in self.bounds)

    @property
    def bounds(self) -> tuple[int | float, ...]:
        """The values that decide what is allowed: all choices, or least and greatest."""
        return self.choices or tuple(value for value in (self.min, self.max) if value is not None)

    def holds(self, value: float) -> bool:
        """Whether a value is one of these."""
        if self.choices:
            return value in self.choices
        return self.bounds[0] <= value <= self.bounds[1] and (not self.whole or value == int(value))
