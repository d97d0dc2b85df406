//! The core grains of a Linux machine.
