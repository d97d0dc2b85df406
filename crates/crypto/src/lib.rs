//! Keys, signatures and sealed messages, without any socket.
