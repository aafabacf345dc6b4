"""The ways to a Triton: what can be asked (`calls`), and what sends it (`base`, `http`, `grpc`)."""

from plate_nets.client.transports.base import ServerAccess, Transport

__all__ = ["ServerAccess", "Transport", "open_transport"]


def open_transport(access: ServerAccess) -> Transport:
    """How a server is asked -> the transport of its protocol, whose library is imported now."""
    if access.address.protocol == "http":
        from plate_nets.client.transports.http import HttpTransport

        return HttpTransport(access)
    from plate_nets.client.transports.grpc import GrpcTransport

    return GrpcTransport(access)
