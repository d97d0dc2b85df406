//! State runs on a minion: the state functions, the run's effects, and all functions of this build in one registry.
