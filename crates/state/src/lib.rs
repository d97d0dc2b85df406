//! The state engine without effects: SLS data to low chunks, and the order in which they run.
