"""What an implementation raises, and nothing else."""

from __future__ import annotations


class PackingError(ValueError):
    """Input that must not be packed.

    Args:
        argument: name of the offending argument, as the caller wrote it.
        value: the offending value.
        requirement: what the value must be, as the end of a sentence.
    """

    def __init__(self, argument: str, value: object, requirement: str) -> None:
        super().__init__(argument, value, requirement)
        self.argument = argument
        self.value = value
        self.requirement = requirement

    def __str__(self) -> str:
        return f"{self.argument} = {self.value!r}: {self.requirement}"


class NotSupported(Exception):
    """The implementation does not offer this operation, or not for this input.

    Laws that need it are reported as *not supported*, never as passed.
    """


class Inexpressible(NotSupported):
    """This one input cannot be put to the implementation, though others can; laws draw another."""
