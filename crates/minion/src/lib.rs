//! The minion daemon and salt-call: one link per master, one of everything else.
