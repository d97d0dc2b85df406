//! Sockets: ZeroMQ towards the fleet, stream sockets for the local event bus.
