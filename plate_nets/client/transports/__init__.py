"""Connections to a Triton server: the possible calls (`calls`), and their transports (`base`, `http`, `grpc`)."""

from plate_nets.client.transports.base import ServerAccess, Transport

__all__ = ["ServerAccess", "Transport", "open_transport"]


def open_transport(access: ServerAccess) -> Transport:
    """The transport for the protocol of a server; imports its library."""
    if access.address.protocol == "http":
        from plate_nets.client.transports.http import HttpTransport

        return HttpTransport(access)
    from plate_nets.client.transports.grpc import GrpcTransport

    return GrpcTransport(access)
