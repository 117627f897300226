"""What can go wrong at the embedded service's dashboard, for those who never speak HTTP."""

from kusanya.errors import KusanyaError


class DashboardError(KusanyaError):
    """The dashboard did not do what was asked; `status` is None where it did not answer."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
