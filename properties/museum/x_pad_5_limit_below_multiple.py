"""X-PAD-5: a limit that holds no multiple is raised to one."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Document
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-PAD-5",
    area="padding",
    suffered="documents longer than allowed reached the kernels",
    source="own mutation",
)
class LimitBelowMultiple(ReferenceImplementation):
    """A limit that holds no multiple is raised to one."""

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        return super().pad_document(document, max(max_length, multiple or 1), multiple, pad_id)
