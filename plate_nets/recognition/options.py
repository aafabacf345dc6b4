"""The options of one reading, and how a request to Triton expresses them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from plate_nets.common.errors import InputError
from plate_nets.contract import APPEARANCE, EVIDENCE, LOGITS, PLATES, SCHEME, SCHEMES, SURE, VEHICLE_ROWS, TensorSpec
from plate_nets.recognition.reader import check_sure


@dataclass(frozen=True)
class ReadOptions:
    """What to find out about the plates of a picture."""

    evidence: bool = False
    """Also return the logits of each plate."""
    appearance: bool = False
    """Also return the country and the colour of each plate, as several schemes always do."""
    schemes: str = ""
    """Comma-separated names of the schemes to read; empty: all that the reader has."""
    sure: float | None = None
    """The minimum confidence of a text, between 0 and 1; None: the reader's own."""
    vehicles: bool = False
    """Also find vehicles, and the vehicle of each plate."""

    @classmethod
    def of_request(cls, outputs: Collection[str], parameters: Mapping[str, Any]) -> "ReadOptions":
        """The options of a request, from the names of the outputs it asks for and from its parameters.

        Raises:
            InputError: the schemes are not text.
        """
        schemes = parameters.get(SCHEME, "")
        if not isinstance(schemes, str):
            raise InputError(f"{SCHEME}: expected comma-separated names of schemes, got {schemes!r}")
        return cls(
            evidence=LOGITS.name in outputs,
            appearance=any(spec.name in outputs for spec in APPEARANCE),
            schemes=schemes,
            sure=parameters.get(SURE),
            vehicles=VEHICLE_ROWS.name in outputs,
        )

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The outputs that a request with these options asks for."""
        groups = ((EVIDENCE, self.evidence), (APPEARANCE, self.appearance), ((VEHICLE_ROWS,), self.vehicles))
        return (*PLATES, SCHEMES, *(spec for group, requested in groups if requested for spec in group))

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of a request with these options, as text: gRPC's parameters cannot be fractions.

        Raises:
            InputError: `sure` is not a probability.
        """
        schemes = {SCHEME: self.schemes} if self.schemes else {}
        return schemes if self.sure is None else {**schemes, SURE: str(check_sure(self.sure))}
